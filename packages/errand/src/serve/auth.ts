import type { HeaderReader } from '../dialect.ts';
import type { JsonObject } from '../json.ts';
import type { Principal } from '../task/principal.ts';

/** Who a token speaks for, and what it allows. */
export interface Verified {
  readonly principal: Principal;
  readonly scopes: readonly string[];
}

/** Checks a token. Gives `undefined` for one that is not valid; a throw is the server's failure, not the caller's. */
export type TokenVerifier = (token: string) => Verified | undefined | Promise<Verified | undefined>;

/** Says who sends requests to one endpoint. */
export interface Auth {
  /** Who sent a request. Throws an `Unauthorized` where its credentials are missing or bad. */
  authenticate(header: HeaderReader): Promise<Principal>;
  /** The protected resource metadata (RFC 9728): where to get a token. */
  readonly metadata: JsonObject;
}
