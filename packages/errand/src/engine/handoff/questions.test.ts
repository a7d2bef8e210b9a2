import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../json.ts';
import { DEFAULT_LIMITS } from '../../limits.ts';
import { checkJson } from '../../schema.ts';
import type { InputRequest } from '../../task/input.ts';
import { checkAnswer } from '../answers.ts';
import { plainQuestion } from './questions.ts';

const requestedSchema: JsonObject = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const FORM: InputRequest = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'How many?', requestedSchema },
};
const PAGE: InputRequest = {
  method: 'elicitation/create',
  params: { mode: 'url', message: 'Sign in.', url: 'https://example.com/in' },
};
const SAMPLE: InputRequest = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 9 } };
const ROOTS: InputRequest = { method: 'roots/list', params: {} };

function isTaken(request: InputRequest, answer: JsonObject): boolean {
  try {
    checkAnswer('key', request, answer, DEFAULT_LIMITS);
    return true;
  } catch {
    return false;
  }
}

describe('a question as a model reads it', () => {
  it.each<[string, InputRequest, JsonObject[], JsonObject[]]>([
    [
      'a form',
      FORM,
      [{ action: 'accept', content: { n: 3 } }, { action: 'decline' }, { action: 'cancel' }],
      [{ action: 'accept' }, { action: 'accept', content: { n: 'three' } }, { n: 3 }, { action: 'yes' }],
    ],
    ['a page', PAGE, [{ action: 'accept' }, { action: 'decline' }], [{}, { action: 'visit' }]],
    [
      'a prompt',
      SAMPLE,
      [{ role: 'assistant', content: { type: 'text', text: 'hi' }, model: 'm' }],
      [
        { role: 'assistant', content: 'hi', model: 'm' },
        { content: {}, model: 'm' },
        { role: 'user', content: {} },
      ],
    ],
    ['folders', ROOTS, [{ roots: [{ uri: 'file:///a' }] }, { roots: [] }], [{}, { roots: [{ name: 'a' }] }]],
  ])('comes with a schema that takes just what task_answer takes: %s', (_, request, good, bad) => {
    const { answer } = plainQuestion(request);
    for (const response of good) {
      expect([response, 'value' in checkJson(answer, response), isTaken(request, response)]).toEqual([
        response,
        true,
        true,
      ]);
    }
    for (const response of bad) {
      expect([response, 'value' in checkJson(answer, response), isTaken(request, response)]).toEqual([
        response,
        false,
        false,
      ]);
    }
  });

  it('says all that a person has to know', () => {
    expect(plainQuestion(FORM)).toMatchObject({
      message: 'How many?',
      how: expect.stringContaining(JSON.stringify(requestedSchema)),
    });
    expect(plainQuestion(PAGE).message).toMatch(/^Sign in\..*https:\/\/example\.com\/in$/);
    expect(plainQuestion(SAMPLE).message).toContain('"maxTokens":9');
  });
});
