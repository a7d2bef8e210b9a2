import { ErrandError, type ErrorName } from '../../errors.ts';
import { ANONYMOUS } from '../../task/principal.ts';
import type { Auth, TokenVerifier } from '../auth.ts';
import { createJwtVerifier, type JwtOptions } from './jwt.ts';

/** Whether callers must say who they are, said explicitly so that nobody is let in by an omission. */
export interface AuthMode {
  /** `required`: 401 without a token. `optional`: without one a caller is anonymous. A bad token is 401 in both. */
  readonly mode: 'required' | 'optional';
  /** Scopes that every token must grant; else 403. */
  readonly scopes?: readonly string[];
  /** The URL under which clients reach the endpoint, as tokens and metadata name it. Default: the URL it is served at. */
  readonly resource?: string;
}

/** Tokens of another kind than JWTs, checked by a function of the host, for instance by introspection. */
export interface CustomTokens {
  /** Authorization servers that give out such tokens (URLs), for clients that look for one. */
  readonly authorizationServers?: readonly string[];
  readonly verify: TokenVerifier;
}

/** How callers are authenticated: by JWTs of an authorization server, or by a verifier of the host's own. */
export type AuthOptions = AuthMode & (JwtOptions | CustomTokens);

/** A refusal that tells the client how to get in. */
export class Unauthorized extends ErrandError {
  constructor(
    kind: Extract<ErrorName, 'unauthenticated' | 'insufficientScope'>,
    message: string,
    /** The value of the `WWW-Authenticate` header. */
    readonly challenge: string,
  ) {
    super(kind, message);
  }
}

/**
 * Bearer authentication for one endpoint (RFC 6750, RFC 9728). `endpoint` is the URL at which clients reach the server, unless
 * the options say another.
 */
export function createAuth(options: AuthOptions, endpoint: string): Auth {
  const { mode, scopes = [], resource = endpoint } = options;
  if (mode !== 'required' && mode !== 'optional') throw new TypeError("auth.mode must be 'required' or 'optional'");
  if (!URL.canParse(resource)) throw new TypeError(`auth.resource is the URL of the endpoint; "${resource}" is none`);
  const verify = 'verify' in options ? options.verify : createJwtVerifier(options);
  const servers = 'verify' in options ? (options.authorizationServers ?? []) : [options.issuer];
  const metadataUrl = metadataUrlOf(new URL(resource));

  function refuse(kind: 'unauthenticated' | 'insufficientScope', message: string, error?: string): Unauthorized {
    const parts = [
      ...(error === undefined ? [] : [`error="${error}"`, `error_description="${message}"`]),
      ...(scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`]),
      `resource_metadata="${metadataUrl}"`,
    ];
    return new Unauthorized(kind, message, `Bearer ${parts.join(', ')}`);
  }

  return {
    async authenticate(header) {
      const authorization = header('authorization');
      if (authorization === undefined) {
        if (mode === 'optional') return ANONYMOUS;
        throw refuse('unauthenticated', 'A bearer token is required');
      }
      const token = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i.exec(authorization)?.[1];
      const verified = token === undefined ? undefined : await verify(token);
      if (verified === undefined)
        throw refuse('unauthenticated', 'The bearer token is not valid here', 'invalid_token');
      const missing = scopes.filter((scope) => !verified.scopes.includes(scope));
      if (missing.length > 0) {
        throw refuse('insufficientScope', `The bearer token does not grant ${missing.join(' ')}`, 'insufficient_scope');
      }
      return verified.principal;
    },
    metadata: {
      resource,
      ...(servers.length === 0 ? {} : { authorization_servers: [...servers] }),
      bearer_methods_supported: ['header'],
      ...(scopes.length === 0 ? {} : { scopes_supported: [...scopes] }),
    },
  };
}

/** Where the metadata of a resource is (RFC 9728, section 3.1): its path follows the well-known one. */
function metadataUrlOf({ origin, pathname }: URL): string {
  return `${origin}${METADATA_PATH}${pathname === '/' ? '' : pathname}`;
}

/** The path of protected resource metadata, before the path of the resource. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource';
