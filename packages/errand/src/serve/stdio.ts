import type { Readable, Writable } from 'node:stream';
import type { Logger } from 'pino';
import type { Exchange } from './exchange.ts';

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
  /** Stops reading, and takes back what is under way. */
  close(): Promise<void>;
}

/** Serves an exchange over stdin and stdout, one JSON message a line. Resolves when it reads. */
export declare function serveStdio(exchange: Exchange, options?: StdioOptions): Promise<StdioServing>;
