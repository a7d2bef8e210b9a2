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
  /**
   * Who sent a request, by its `Authorization` header. Rejects with an `Unauthorized` where that is missing or bad, and
   * with `authAway` where nobody can tell.
   */
  authenticate(authorization: string | undefined): Promise<Verified>;
  /** The value of `WWW-Authenticate` that asks a client for a token with these scopes. */
  challenge(scopes: readonly string[], error?: 'insufficient_scope'): string;
  /** The protected resource metadata (RFC 9728), which says where to get a token, if it is at this path of the server. */
  metadataAt(path: string): JsonObject | undefined;
}
