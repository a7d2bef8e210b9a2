import { ErrandError } from '../errors.ts';
import { isObject, type JsonObject } from '../json.ts';
import { checkSize, type Limits } from '../limits.ts';
import { checkJson, issuesText } from '../schema.ts';
import type { InputRequest, InputResponse } from '../task/input.ts';

/**
 * An answer, checked against what was asked. Throws `invalidAnswer` with the place in it that is
 * wrong; the question stays open then.
 */
export function checkAnswer(
  key: string,
  request: InputRequest,
  response: unknown,
  { answerBytes }: Limits,
): InputResponse {
  if (!isObject(response)) throw invalid(key, '', 'an answer is an object');
  checkSize(response as JsonObject, answerBytes, `the answer to "${key}"`);
  switch (request.method) {
    case 'elicitation/create':
      checkElicitation(key, request.params, response);
      break;
    case 'sampling/createMessage':
      if (response['role'] !== 'assistant' && response['role'] !== 'user')
        throw invalid(key, 'role', 'must be "assistant" or "user"');
      if (!isObject(response['content']) && !Array.isArray(response['content']))
        throw invalid(key, 'content', 'must be a content block, or a list of them');
      if (typeof response['model'] !== 'string') throw invalid(key, 'model', 'must be the name of the model');
      break;
    case 'roots/list':
      checkRoots(key, response['roots']);
  }
  return response as InputResponse;
}

function checkElicitation(key: string, { mode, requestedSchema }: JsonObject, response: Record<string, unknown>): void {
  const { action, content } = response;
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
    throw invalid(key, 'action', 'must be "accept", "decline" or "cancel"');
  }
  if (action !== 'accept' || mode === 'url') return;
  if (!isObject(content)) throw invalid(key, 'content', 'must be an object that fits the requested schema');
  const checked = checkJson(requestedSchema as JsonObject, content);
  if ('issues' in checked) {
    const path = checked.issues[0]!.path;
    throw invalid(key, path === '' ? 'content' : `content.${path}`, issuesText(checked.issues));
  }
}

function checkRoots(key: string, roots: unknown): void {
  if (!Array.isArray(roots)) throw invalid(key, 'roots', 'must be a list');
  roots.forEach((root: unknown, index) => {
    if (!isObject(root) || typeof root['uri'] !== 'string') throw invalid(key, `roots[${index}].uri`, 'must be a URI');
  });
}

/** Where the answer to a question stands in the params of a request. */
export function placeOf(key: string): string {
  return `inputResponses["${key}"]`;
}

function invalid(key: string, path: string, message: string): ErrandError {
  const place = path === '' ? placeOf(key) : `${placeOf(key)}.${path}`;
  return new ErrandError('invalidAnswer', `Invalid answer: ${place}: ${message}`, { data: { key, path: place } });
}
