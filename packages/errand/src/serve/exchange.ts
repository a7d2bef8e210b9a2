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
  /** On stdio: the client for as long as it is there. */
  readonly pipe?: Pipe;
}

/** Both ways to one client, on which either side may speak at any time. */
export interface Pipe {
  send(message: JsonRpcMessage): void;
  /** Aborted when the client has gone. */
  readonly closed: AbortSignal;
}

/** An HTTP request without a message. */
export type Visit = Omit<Inbound, 'message' | 'pipe'>;

/** One event of a stream that can be resumed: without a message it only tells where the stream is. */
export interface StreamEvent {
  readonly id: string;
  readonly message?: JsonRpcMessage;
}

/** What a client gets for one message. On stdio the status means nothing. */
export type Reply =
  /** One response; `session` is the id of the session that it opens. */
  | { readonly kind: 'response'; readonly status: number; readonly body: JsonRpcResponse; readonly session?: string }
  /** Nothing: the message was a notification, or its request was taken back. */
  | { readonly kind: 'accepted' }
  /** Messages as they come; the response, if there is one, is the last. Ends when the iterator ends. */
  | { readonly kind: 'stream'; readonly messages: AsyncIterable<JsonRpcMessage> }
  /** The same, where the client can come back for what it missed. */
  | { readonly kind: 'events'; readonly events: AsyncIterable<StreamEvent> };

/** Frames in, frames out: everything that serves clients goes through one of these. Never rejects. */
export interface Exchange {
  (inbound: Inbound): Promise<Reply>;
  /** What clients may do with a session beside sending messages. Without it there are none. */
  readonly sessions?: SessionDoor;
}

/** Where clients of older revisions come in by HTTP methods other than POST. Never rejects. */
export interface SessionDoor {
  /** GET: opens a stream, or goes on with one. */
  listen(visit: Visit): Promise<Reply>;
  /** DELETE: ends the session. */
  end(visit: Visit): Promise<Reply>;
}
