import { ErrandError } from './errors.ts';
import type { RpcError } from './errors.ts';
import { isObject, MAX_DEPTH } from './json.ts';
import type { JsonObject, JsonValue } from './json.ts';

export type RequestId = string | number;

export interface JsonRpcRequest {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly method: string;
  readonly params?: JsonObject;
}

export interface JsonRpcNotification {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params?: JsonObject;
}

export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue;
}

export type JsonRpcResponse =
  | { readonly jsonrpc: '2.0'; readonly id: RequestId; readonly result: JsonObject }
  | { readonly jsonrpc: '2.0'; readonly id?: RequestId | null; readonly error: JsonRpcError };

/** The response of a client to a request of ours. */
export type ClientResponse = JsonRpcResponse & { readonly id: RequestId };

export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResponse;

/** A message that is refused as a whole, though the id to answer it under can be read. */
class RefusedMessage extends ErrandError {
  constructor(
    readonly id: RequestId | undefined,
    why: string,
  ) {
    super('invalidRequest', `Invalid request: ${why}`);
  }
}

/** The JSON in a text. Throws -32700 where it is none, -32600 where it is nested too deeply. */
export function parseMessage(text: string): unknown {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    throw new ErrandError('parse', 'Parse error: not valid JSON');
  }
  // A short text cannot be that deep, and most are short.
  if (text.length > 2 * MAX_DEPTH && isTooDeep(text)) {
    throw new RefusedMessage(readableId(message), `nested more than ${MAX_DEPTH} deep`);
  }
  return message;
}

/** Whether a text that is known to be JSON nests too deeply. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (quoted) {
      if (char === 0x5c /* \ */) at += 1;
      else if (char === 0x22 /* " */) quoted = false;
    } else if (char === 0x22) quoted = true;
    else if (char === 0x7b /* { */ || char === 0x5b /* [ */) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (char === 0x7d /* } */ || char === 0x5d /* ] */) depth -= 1;
  }
  return false;
}

/** Whether a message from `asMessage` wants an answer. */
export function isRequest(message: JsonRpcRequest | JsonRpcNotification): message is JsonRpcRequest {
  return 'id' in message;
}

/** A value as the request or notification that a client may send. Throws -32600 where it is none. */
export function asMessage(value: unknown): JsonRpcRequest | JsonRpcNotification {
  if (Array.isArray(value)) throw invalid('batches do not exist in this revision');
  if (!isObject(value) || value.jsonrpc !== '2.0') throw invalid('not a JSON-RPC 2.0 message');
  if (typeof value.method !== 'string') {
    throw invalid('result' in value || 'error' in value ? 'a server takes no responses' : '"method" must be a string');
  }
  if ('id' in value && !isRequestId(value.id)) throw invalid('"id" must be a string or an integer');
  if (value.params !== undefined && !isObject(value.params)) throw invalid('"params" must be an object');
  return value as unknown as JsonRpcRequest | JsonRpcNotification;
}

/** Whether a value is the response to a request of ours, as clients of older revisions send them. */
export function isResponse(value: unknown): value is ClientResponse {
  if (!isObject(value) || value.jsonrpc !== '2.0' || 'method' in value || !isRequestId(value.id)) return false;
  if ('result' in value) return isObject(value.result) && !('error' in value);
  return isObject(value.error) && Number.isInteger(value.error.code) && typeof value.error.message === 'string';
}

function invalid(why: string): ErrandError {
  return new ErrandError('invalidRequest', `Invalid request: ${why}`);
}

/** Whether a value can be an id. A larger integer would come back as another: JSON.parse has rounded it. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/** The id to answer a message under, however broken the message is; that of a response is none of ours. */
export function readableId(message: unknown): RequestId | undefined {
  return isObject(message) && 'method' in message && isRequestId(message.id) ? message.id : undefined;
}

/** An error as a response. Where the id could not be read there is none: the schemas of MCP know no `null` id. */
export function errorResponse(id: RequestId | undefined, error: RpcError): JsonRpcResponse {
  const { code, message, data } = error;
  const known = error instanceof RefusedMessage ? error.id : id;
  return {
    jsonrpc: '2.0',
    ...(known === undefined ? {} : { id: known }),
    error: { code, message, ...(data === undefined ? {} : { data }) },
  };
}
