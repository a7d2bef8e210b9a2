import type { JsonObject } from '../json.ts';

/** The kinds of question that can be put to a client. */
export type InputKind = 'elicitation' | 'sampling' | 'roots';

/** Which questions the client that created a task said it can answer. */
export interface InputCapabilities {
  readonly elicitation?: { readonly form: boolean; readonly url: boolean };
  readonly sampling?: { readonly tools: boolean; readonly context: boolean };
  readonly roots?: true;
}

/** A question: the method and the params of the request that it would be on a wire. */
export interface InputRequest {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params: JsonObject;
}

/** An answer: the bare result of the request. */
export type InputResponse = JsonObject;

/** A question under its key, and what became of it. A key is used once in a task's life. */
export interface Input {
  readonly request: InputRequest;
  readonly state: 'open' | 'answered' | 'withdrawn';
  /** Set exactly when `state` is `answered`. */
  readonly response?: InputResponse;
}

const KINDS: Record<InputRequest['method'], InputKind> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};

/** The kind of question a request is. */
export function kindOf(request: InputRequest): InputKind {
  return KINDS[request.method];
}
