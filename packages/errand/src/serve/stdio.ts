import { isUtf8 } from 'node:buffer';
import type { Readable, Writable } from 'node:stream';
import type { Logger } from 'pino';
import { ErrandError, shuttingDown, toRpcError } from '../errors.ts';
import { isObject } from '../json.ts';
import { errorResponse, isRequestId, parseMessage, readableId } from '../jsonrpc.ts';
import type { JsonRpcMessage, RequestId } from '../jsonrpc.ts';
import { LOCAL } from '../task/principal.ts';
import type { Exchange, Pipe } from './exchange.ts';
import { GRACE_MS, LAST_WORDS_MS } from './farewell.ts';
import { LineSplitter } from './stdio/lines.ts';

export interface StdioOptions {
  /** Default `process.stdin`. */
  readonly input?: Readable;
  /** Default `process.stdout`, to which nothing else may write. */
  readonly output?: Writable;
  readonly log?: Logger;
}

export interface StdioServing {
  /** Resolves when the client has gone or `close` was called. */
  readonly closed: Promise<void>;
  /** Stops reading, lets what is under way end (10 s at most), and takes back the rest. */
  close(): Promise<void>;
}

/** Nothing more is read from a client that has left so many bytes of answers unread: it could go on asking for ever. */
const MOST_UNREAD = 8 * 1024 ** 2;

/**
 * Serves an exchange over stdin and stdout, one JSON message a line. Resolves when it reads.
 *
 * Lines that are no JSON are answered with -32700 and no id: JSON-RPC asks for that answer, and a
 * client that waits for a lost request finds out. The end of stdin takes back whatever is under way.
 */
export async function serveStdio(exchange: Exchange, options: StdioOptions = {}): Promise<StdioServing> {
  const { input = process.stdin, output = process.stdout, log } = options;
  const underWay = new Map<RequestId, AbortController>();
  const client = new AbortController();
  const pipe: Pipe = { closed: client.signal, send: (message) => void send(message) };
  const lines = new LineSplitter();
  const blocked = new Set<() => void>();
  let over = false;
  let reads = true;
  let onIdle = (): void => {};
  let finish: () => void;
  const closed = new Promise<void>((resolve) => (finish = resolve));

  function take(line: Buffer | 'too long'): void {
    let message: unknown;
    try {
      if (line === 'too long') throw new ErrandError('tooLarge', 'The message is too long');
      if (!isUtf8(line)) throw new ErrandError('parse', 'Parse error: not valid UTF-8');
      const text = line.toString('utf8').trim();
      if (text === '') return;
      message = parseMessage(text);
    } catch (thrown) {
      return void send(errorResponse(undefined, toRpcError(thrown)));
    }
    // With an id it would be a request, which wants its answer: that there is no such method.
    if (isObject(message) && message.method === 'notifications/cancelled' && !('id' in message)) {
      return takeBack(message.params);
    }
    const id = readableId(message);
    if (id !== undefined && underWay.has(id)) {
      return void send(
        errorResponse(id, new ErrandError('invalidRequest', 'Invalid request: a request of that id is under way')),
      );
    }
    void serve(message, id);
  }

  /** Ends a request, and with it a subscription; never a task that it made (CASES 22). */
  function takeBack(params: unknown): void {
    const id = isObject(params) ? params.requestId : undefined;
    if (isRequestId(id)) underWay.get(id)?.abort();
  }

  async function serve(message: unknown, id: RequestId | undefined): Promise<void> {
    const gone = new AbortController();
    if (id !== undefined) underWay.set(id, gone);
    try {
      const reply = await exchange({ message, principal: LOCAL, signal: gone.signal, pipe });
      // A request that its client took back is not answered.
      if (reply.kind === 'response' && (!gone.signal.aborted || isFarewell(gone.signal))) await send(reply.body);
      if (reply.kind === 'stream') {
        for await (const message of reply.messages) {
          if (gone.signal.aborted) break;
          await send(message);
        }
      }
    } catch (error) {
      log?.error({ err: error }, 'a request failed');
    } finally {
      if (id !== undefined) underWay.delete(id);
      if (underWay.size === 0) onIdle();
    }
  }

  /** Resolves when the client has read enough to be sent more. */
  function send(message: JsonRpcMessage): Promise<void> | undefined {
    if (over || output.write(`${JSON.stringify(message)}\n`)) return undefined;
    if (output.writableLength > MOST_UNREAD) input.pause();
    return new Promise((resolve) => blocked.add(resolve));
  }

  function unblock(): void {
    for (const resolve of blocked) resolve();
    blocked.clear();
    if (reads) input.resume();
  }

  function read(chunk: Buffer): void {
    for (const line of lines.add(chunk)) take(line);
  }

  function end(): void {
    if (over) return;
    over = true;
    reads = false;
    input.off('data', read).off('end', end).off('close', end).off('error', end).pause();
    onIdle();
    for (const request of underWay.values()) request.abort();
    client.abort();
    unblock();
    finish();
  }

  function sayFarewell(): void {
    for (const [id, { signal }] of underWay) if (isFarewell(signal)) void send(errorResponse(id, shuttingDown()));
    end();
  }

  // A client that goes away breaks both pipes; the listener on the output stays, for writes that fail late.
  output.on('error', end).on('drain', unblock);
  input.on('end', end).on('close', end).on('error', end).on('data', read);

  return {
    closed,
    async close() {
      reads = false;
      input.off('data', read).pause();
      if (underWay.size > 0 && !over) {
        const timers = [
          setTimeout(() => underWay.forEach((gone) => gone.abort(shuttingDown())), GRACE_MS),
          setTimeout(sayFarewell, GRACE_MS + LAST_WORDS_MS),
        ];
        await new Promise<void>((resolve) => (onIdle = resolve));
        timers.forEach(clearTimeout);
      }
      end();
    },
  };
}

/** Whether a request was ended by us, and not by its client. */
function isFarewell({ reason }: AbortSignal): boolean {
  return reason instanceof ErrandError;
}
