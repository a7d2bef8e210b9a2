import type { JsonObject, JsonValue } from './json.ts';

/**
 * Every error that Errand answers with, in one table: the JSON-RPC code it becomes, the HTTP
 * status it travels under, and whether the same request may succeed later.
 *
 * Codes of our own lie outside -32768..-32000, the range that JSON-RPC reserves.
 */
export const ERRORS = {
  parse: { code: -32700, status: 400, retryable: false },
  invalidRequest: { code: -32600, status: 400, retryable: false },
  methodNotFound: { code: -32601, status: 404, retryable: false },
  /** The per-request envelope (`params._meta`) is missing or malformed: the one -32602 that is a 400. */
  invalidEnvelope: { code: -32602, status: 400, retryable: false },
  invalidParams: { code: -32602, status: 200, retryable: false },
  unknownTool: { code: -32602, status: 200, retryable: false },
  /** The id is unknown, or the task is somebody else's: nobody can tell which. */
  taskNotFound: { code: -32602, status: 200, retryable: false },
  invalidAnswer: { code: -32602, status: 200, retryable: false },
  invalidRequestState: { code: -32602, status: 200, retryable: false },
  headerMismatch: { code: -32020, status: 400, retryable: false },
  missingCapability: { code: -32021, status: 400, retryable: false },
  unsupportedVersion: { code: -32022, status: 400, retryable: false },
  internal: { code: -32603, status: 200, retryable: false },
  storeAway: { code: -32603, status: 200, retryable: true },
  tooLarge: { code: -31001, status: 413, retryable: false },
  overloaded: { code: -31002, status: 200, retryable: true },
  draining: { code: -31003, status: 503, retryable: true },
  /** The tool of an SDK server asks for OAuth scopes that the caller is not known to have. */
  insufficientScope: { code: -31004, status: 403, retryable: false },
  /** HTTP only: no token, or none that is valid here. */
  unauthenticated: { code: -31005, status: 401, retryable: false },
  /** HTTP only: who gave the token out cannot be asked for its keys. */
  authAway: { code: -31006, status: 503, retryable: true },
  /** The caller has as many live tasks as it may have. */
  taskLimit: { code: -31007, status: 200, retryable: true },
  /** A task began more steps than it may. */
  stepLimit: { code: -31008, status: 200, retryable: false },
  /** The idempotency key of a call was used for another call. */
  keyConflict: { code: -31009, status: 200, retryable: false },
  deadline: { code: -31010, status: 200, retryable: false },
  interrupted: { code: -31011, status: 200, retryable: true },
  /** What only a caller may have who is known: anonymous ones know their tasks by the ids alone. */
  anonymous: { code: -31012, status: 403, retryable: false },
  /** The result of a task was waited for, which was cancelled: there is none (L-26). */
  cancelled: { code: -31013, status: 200, retryable: false },
  /** A tool ended with `isError`, where a wire has only an error for that (K-5). */
  toolFailed: { code: -31014, status: 200, retryable: false },
  /** HTTP only: the session is unknown here, over, or another's. The client opens a new one; its tasks are where they were. */
  sessionNotFound: { code: -31015, status: 404, retryable: false },
} as const satisfies Record<string, { code: number; status: number; retryable: boolean }>;

/** The name of an error of the table. */
export type ErrorName = keyof typeof ERRORS;

/** An error that becomes a JSON-RPC error. Throw one from a handler to fail a call with it. */
export class RpcError extends Error {
  override readonly name: string = 'RpcError';

  constructor(
    /** The JSON-RPC code. */
    readonly code: number,
    message: string,
    readonly data?: JsonValue,
    /** The HTTP status of the answer, where HTTP carries it. */
    readonly status = 200,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** One of Errand's own errors; `kind` names its row of the table. */
export class ErrandError extends RpcError {
  override readonly name = 'ErrandError';

  constructor(
    readonly kind: ErrorName,
    message: string,
    options: ErrorOptions & { data?: JsonValue } = {},
  ) {
    const row = ERRORS[kind];
    super(row.code, message, options.data, row.status, options);
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return ERRORS[this.kind].retryable;
  }
}

/** The client did not declare what the request needs. `required` is what it would have to declare. */
export function missingCapability(required: JsonObject, message: string): ErrandError {
  return new ErrandError('missingCapability', message, { data: { requiredCapabilities: required } });
}

/** A task of that id is not there for this principal; foreign ones read just the same. */
export function taskNotFound(): ErrandError {
  return new ErrandError('taskNotFound', 'Task not found');
}

/** The server takes no more, and cannot finish what it has. */
export function shuttingDown(): ErrandError {
  return new ErrandError('draining', 'The server is shutting down');
}

/** Any thrown value as a JSON-RPC error; what is not ours is internal, and keeps its text to itself. */
export function toRpcError(thrown: unknown): RpcError {
  return thrown instanceof RpcError ? thrown : new ErrandError('internal', 'Internal error', { cause: thrown });
}
