import { describe, expect, it } from 'vitest';
import { ErrandError } from '../errors.ts';
import type { InputRequest } from '../task/input.ts';
import { DEFAULT_LIMITS } from '../limits.ts';
import { checkAnswer } from './answers.ts';

const FORM: InputRequest = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Who?',
    requestedSchema: {
      type: 'object',
      properties: { name: { type: 'string', minLength: 2 }, age: { type: 'integer' } },
      required: ['name'],
    },
  },
};
const PAGE: InputRequest = { method: 'elicitation/create', params: { mode: 'url', message: 'Pay', url: 'https://x' } };
const MODEL: InputRequest = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } };
const ROOTS: InputRequest = { method: 'roots/list', params: {} };

describe('an answer that fits its question', () => {
  it.each<[string, InputRequest, Record<string, unknown>]>([
    ['a form filled in', FORM, { action: 'accept', content: { name: 'Ada', age: 36 } }],
    ['a form declined', FORM, { action: 'decline' }],
    ['a form cancelled', FORM, { action: 'cancel' }],
    ['a page visited', PAGE, { action: 'accept' }],
    ['what a model said', MODEL, { role: 'assistant', content: { type: 'text', text: 'hi' }, model: 'm' }],
    ['several blocks of a model', MODEL, { role: 'assistant', content: [{ type: 'text', text: 'hi' }], model: 'm' }],
    ['roots', ROOTS, { roots: [{ uri: 'file:///a', name: 'a' }] }],
    ['no roots', ROOTS, { roots: [] }],
  ])('is taken as it is: %s', (_, request, response) => {
    expect(checkAnswer('q', request, response, DEFAULT_LIMITS)).toBe(response);
  });
});

describe('an answer that does not fit its question', () => {
  it.each<[string, InputRequest, unknown]>([
    ['', FORM, 'yes'],
    ['', FORM, null],
    ['', FORM, [{ action: 'accept' }]],
    ['action', FORM, {}],
    ['action', FORM, { action: 'yes' }],
    ['content', FORM, { action: 'accept' }],
    ['content', FORM, { action: 'accept', content: [] }],
    ['content', FORM, { action: 'accept', content: {} }],
    ['content.name', FORM, { action: 'accept', content: { name: 'A' } }],
    ['content.age', FORM, { action: 'accept', content: { name: 'Ada', age: 3.5 } }],
    ['role', MODEL, { role: 'system', content: {}, model: 'm' }],
    ['content', MODEL, { role: 'assistant', content: 'hi', model: 'm' }],
    ['model', MODEL, { role: 'assistant', content: {} }],
    ['roots', ROOTS, {}],
    ['roots[1].uri', ROOTS, { roots: [{ uri: 'file:///a' }, { name: 'b' }] }],
  ])('is refused with the place that is wrong: "%s"', (place, request, response) => {
    const path = `inputResponses["q"]${place === '' ? '' : `.${place}`}`;
    let thrown: unknown;
    try {
      checkAnswer('q', request, response, DEFAULT_LIMITS);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ErrandError);
    expect(thrown).toMatchObject({ kind: 'invalidAnswer', code: -32602, data: { key: 'q', path } });
    expect((thrown as Error).message).toMatch(/^Invalid answer: /);
  });
});
