import { missingCapability } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { kindOf, type InputCapabilities, type InputRequest } from '../task/input.ts';

/** Refuses a question of a kind that the client did not declare, before anything is recorded (F-1, N-10). */
export function requireCapability(capabilities: InputCapabilities, request: InputRequest): void {
  const required = missing(capabilities, request);
  if (required === undefined) return;
  throw missingCapability(required, `the client did not declare that it can answer ${request.method} of this kind`);
}

/** Whether the client declared that it can answer a question of this kind. */
export function mayAsk(capabilities: InputCapabilities, request: InputRequest): boolean {
  return missing(capabilities, request) === undefined;
}

/** The client capability that a question needs and that is not there; `undefined` where it may be asked. */
function missing({ elicitation, sampling, roots }: InputCapabilities, request: InputRequest): JsonObject | undefined {
  switch (kindOf(request)) {
    case 'elicitation': {
      const mode = request.params['mode'] === 'url' ? 'url' : 'form';
      return elicitation?.[mode] ? undefined : { elicitation: { [mode]: {} } };
    }
    case 'sampling': {
      const withTools = request.params['tools'] !== undefined || request.params['toolChoice'] !== undefined;
      if (sampling === undefined) return { sampling: {} };
      return withTools && !sampling.tools ? { sampling: { tools: {} } } : undefined;
    }
    case 'roots':
      return roots ? undefined : { roots: {} };
  }
}

/**
 * What a task may ask that a client takes no tasks for, but whose call may be handed off: also what only a person can
 * answer, since the model behind the client can put it to one.
 */
export function askedInWords(capabilities: InputCapabilities): InputCapabilities {
  return { ...capabilities, elicitation: { form: true, url: true } };
}
