import type { Logger } from 'pino';
import type { ServerInfo } from '../dialect.ts';
import type { Engine } from '../engine/engine.ts';
import type { Backend } from './backend.ts';
import type { Inbound, Reply } from './exchange.ts';

export interface FrontOptions {
  readonly engine: Engine;
  readonly info: ServerInfo;
  /** Answers what is not ours. Without one such requests are -32601. */
  readonly backend?: Backend;
  readonly log: Logger;
  /** How many subscriptions may be open at once. Default 1024. */
  readonly maxSubscriptions?: number;
}

/** The exchange that all transports share. */
export interface Front {
  (inbound: Inbound): Promise<Reply>;
  /** Ends every open subscription in good order. */
  drain(): void;
}

/** Decodes what clients send, runs it on the engine, and encodes the answers. Keeps no state between requests. */
export declare function createFront(options: FrontOptions): Front;
