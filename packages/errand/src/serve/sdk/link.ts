import type { MessageExtraInfo, TransportSendOptions } from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { ReadableStream, type ReadableStreamDefaultController } from 'node:stream/web';
import { ERRORS } from '../../errors.ts';
import type { JsonRpcMessage, JsonRpcRequest, JsonRpcResponse, Reply, RequestId } from '../exchange.ts';

/** Gives a message to the SDK server, as a transport would. */
export type Deliver = (message: JsonRpcMessage, extra?: MessageExtraInfo) => void;

/** What ids of ours begin with; no client can guess it, and none of theirs looks like it. */
const OURS = `${randomUUID()}:`;
let count = 0;

/** One request that the SDK server has not answered. */
interface Open {
  /** The id that the client gave it. */
  readonly id: RequestId;
  readonly reply: (reply: Reply) => void;
  readonly signal: AbortSignal;
  readonly abort: () => void;
  /** True while the server has not yet returned from the delivery. */
  delivering: boolean;
  /** There once something preceded the response. */
  stream?: ReadableStreamDefaultController<JsonRpcMessage>;
}

/**
 * Puts the requests of many clients through one SDK server at once. Each travels under an id of
 * our own, since two clients may well use the same one.
 */
export class Link {
  readonly #deliver: Deliver;
  readonly #open = new Map<string, Open>();

  constructor(deliver: Deliver) {
    this.#deliver = deliver;
  }

  /**
   * Resolves with the server's response, or with a stream where a notification precedes it. The
   * signal takes the request back: then it resolves with `accepted`, or the stream ends.
   */
  request(request: JsonRpcRequest, signal: AbortSignal, extra?: MessageExtraInfo): Promise<Reply> {
    if (signal.aborted) return Promise.resolve({ kind: 'accepted' });
    return new Promise((reply) => {
      const id = `${OURS}${count++}`;
      const open: Open = { id: request.id, reply, signal, abort: () => this.#cancel(id), delivering: true };
      this.#open.set(id, open);
      signal.addEventListener('abort', open.abort, { once: true });
      this.#deliver({ ...request, id }, extra);
      open.delivering = false;
    });
  }

  /** Takes a message that the server sends, where it belongs to a request of this link; else returns false. */
  take(message: JsonRpcMessage, options?: TransportSendOptions): boolean {
    const id = isResponse(message) ? message.id : options?.relatedRequestId;
    if (typeof id !== 'string' || !id.startsWith(OURS)) return false;
    const open = this.#open.get(id);
    // What comes after a cancel is for nobody.
    if (open === undefined) return true;
    if (isResponse(message)) this.#end(id, open, { ...message, id: open.id });
    // This revision has no requests from a server: whoever makes one must not wait for its time-out.
    else if ('id' in message) throw new Error(`${message.method}: a server sends no requests on this revision of MCP`);
    else this.#stream(id, open).enqueue(message);
    return true;
  }

  /** The server went away: whatever it has not answered ends in an error. */
  close(): void {
    for (const [id, open] of [...this.#open]) {
      this.#end(id, open, {
        jsonrpc: '2.0',
        id: open.id,
        error: { code: ERRORS.internal.code, message: 'Internal error' },
      });
    }
  }

  #stream(id: string, open: Open): ReadableStreamDefaultController<JsonRpcMessage> {
    if (open.stream === undefined) {
      const messages = new ReadableStream<JsonRpcMessage>({
        start: (controller) => void (open.stream = controller),
        cancel: () => {
          delete open.stream;
          this.#cancel(id);
        },
      });
      open.reply({ kind: 'stream', messages });
    }
    return open.stream!;
  }

  #end(id: string, open: Open, response?: JsonRpcResponse): void {
    this.#open.delete(id);
    open.signal.removeEventListener('abort', open.abort);
    if (open.stream !== undefined) {
      if (response !== undefined) open.stream.enqueue(response);
      open.stream.close();
    } else if (response !== undefined) {
      open.reply({ kind: 'response', status: statusOf(response, open.delivering), body: response });
    } else {
      open.reply({ kind: 'accepted' });
    }
  }

  #cancel(id: string): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#deliver({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    this.#end(id, open);
  }
}

/** Whether a message answers a request. */
export function isResponse(message: JsonRpcMessage): message is JsonRpcResponse {
  return 'result' in message || 'error' in message;
}

/**
 * The HTTP status of what the SDK answers. It refuses a method that it has no handler for before
 * it returns from the delivery, which is an error of the wire; a handler's own errors come later
 * and travel in band, but for the missing capability.
 */
function statusOf(response: JsonRpcResponse, delivering: boolean): number {
  if (!('error' in response)) return 200;
  const { missingCapability, methodNotFound } = ERRORS;
  if (response.error.code === missingCapability.code) return missingCapability.status;
  return delivering && response.error.code === methodNotFound.code ? methodNotFound.status : 200;
}
