import type { Principal } from '../task/principal.ts';
import type { Exchange } from './exchange.ts';

/** What the host of a fetch face knows of a request. */
export interface FetchFacts {
  /**
   * Who asks, in the words of the host that authenticated them. Without it the request is
   * anonymous, and served only under a loopback name.
   */
  readonly principal?: Principal;
}

/** Answers web-standard requests through an exchange, for hosts that keep their own HTTP server. */
export declare function fetchFace(exchange: Exchange): (request: Request, facts?: FetchFacts) => Promise<Response>;
