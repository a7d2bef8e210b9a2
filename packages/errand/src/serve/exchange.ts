import type { JsonRpcMessage, JsonRpcResponse } from '../jsonrpc.ts';
import type { Principal } from '../task/principal.ts';

export type {
  JsonRpcError,
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
  RequestId,
} from '../jsonrpc.ts';

/** One message that a client sent, free of the transport that carried it. */
export interface Inbound {
  /** The parsed JSON; its shape has not been looked at. */
  readonly message: unknown;
  /** Reads an HTTP header by its lower-case name; absent on stdio. */
  readonly header?: (name: string) => string | undefined;
  readonly principal: Principal;
  /** What the caller may, where tokens are checked: what its token grants, and nothing without one. */
  readonly scopes?: readonly string[];
  /** Aborted when the client went away or took the request back. */
  readonly signal: AbortSignal;
}

/** What a client gets for one message. On stdio the status means nothing. */
export type Reply =
  /** One response. */
  | { readonly kind: 'response'; readonly status: number; readonly body: JsonRpcResponse }
  /** Nothing: the message was a notification, or its request was taken back. */
  | { readonly kind: 'accepted' }
  /** Messages as they come; the response, if there is one, is the last. Ends when the iterator ends. */
  | { readonly kind: 'stream'; readonly messages: AsyncIterable<JsonRpcMessage> };

/** Frames in, frames out: everything that serves clients goes through one of these. Never rejects. */
export type Exchange = (inbound: Inbound) => Promise<Reply>;
