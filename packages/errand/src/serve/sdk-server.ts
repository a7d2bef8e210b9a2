import type { Principal } from '../task/principal.ts';

/*
 * The official SDK as far as the public types of Errand name it, in shapes of our own: whoever
 * brings no SDK server need not have the SDK installed for our types to hold.
 */

/** An `McpServer` of `@modelcontextprotocol/server`. */
export interface SdkServer {
  readonly server: object;
  isConnected(): boolean;
}

/** What an SDK host knows of an authenticated caller (`AuthInfo`). */
export interface SdkAuth {
  readonly token: string;
  readonly clientId: string;
  readonly scopes: string[];
  readonly extra?: Record<string, unknown>;
}

/** What the owner of a host can say when tasks are put into its SDK server. */
export interface AttachOptions {
  /**
   * Who an authenticated request is from. Default: the subject (`authInfo.extra.sub`) under its
   * issuer (`extra.iss`) and tenant (`extra.tenant`); a token without a subject is refused, since
   * all users of its client would pass for one.
   */
  readonly principal?: (auth: SdkAuth) => Principal;
}
