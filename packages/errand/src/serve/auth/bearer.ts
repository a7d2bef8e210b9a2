import { ErrandError, RpcError, type ErrorName } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import { ANONYMOUS } from '../../task/principal.ts';
import type { Auth, TokenVerifier, Verified } from '../auth.ts';
import { createJwtVerifier, type JwtOptions } from './jwt.ts';

/** Whether callers must say who they are, said explicitly so that nobody is let in by an omission. */
export interface AuthMode {
  /** `required`: 401 without a token. `optional`: without one a caller is anonymous. A bad token is 401 in both. */
  readonly mode: 'required' | 'optional';
  /** Scopes that every token must grant; else 403. */
  readonly scopes?: readonly string[];
  /**
   * The URL by which clients reach the endpoint, as metadata and tokens name it. Default: the URL it is served at. Needed behind a
   * proxy, and where the address that is bound stands for all addresses.
   */
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

type Refusal = Extract<ErrorName, 'unauthenticated' | 'insufficientScope'>;

/** A refusal that tells the client how to get in. */
export class Unauthorized extends ErrandError {
  constructor(
    kind: Refusal,
    message: string,
    /** The value of the `WWW-Authenticate` header. */
    readonly challenge: string,
  ) {
    super(kind, message);
  }
}

/** Where protected resource metadata is: before the path of the resource (RFC 9728, section 3.1). */
const METADATA_PATH = '/.well-known/oauth-protected-resource';

const NOBODY: Verified = { principal: ANONYMOUS, scopes: [] };

/**
 * Bearer authentication for one endpoint (RFC 6750, RFC 9728). `endpoint` gives the URL it is served at, once it is.
 * Throws `TypeError` for options that make no sense.
 */
export function createAuth(options: AuthOptions, endpoint: () => string): Auth {
  const { mode, scopes: needed = [] } = options;
  if (mode !== 'required' && mode !== 'optional') throw new TypeError("auth.mode must be 'required' or 'optional'");
  if (options.resource !== undefined && !URL.canParse(options.resource))
    throw new TypeError(`auth.resource is the URL of the endpoint; ${JSON.stringify(options.resource)} is none`);
  const resource = () => options.resource ?? endpoint();
  const verify = 'verify' in options ? options.verify : createJwtVerifier(options, resource);
  const servers = 'verify' in options ? (options.authorizationServers ?? []) : [options.issuer];

  function metadata(): JsonObject {
    return {
      resource: resource(),
      ...(servers.length === 0 ? {} : { authorization_servers: [...servers] }),
      bearer_methods_supported: ['header'],
      ...(needed.length === 0 ? {} : { scopes_supported: [...needed] }),
    };
  }

  function challenge(scopes: readonly string[], error?: string, description?: string): string {
    const parts = [
      ...(error === undefined ? [] : [`error="${error}"`]),
      ...(description === undefined ? [] : [`error_description="${description}"`]),
      ...(scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`]),
      `resource_metadata="${new URL(resource()).origin}${metadataPath(resource())}"`,
    ];
    return `Bearer ${parts.join(', ')}`;
  }

  function refuse(kind: Refusal, message: string, error?: string): Unauthorized {
    return new Unauthorized(kind, message, challenge(needed, error, error && message));
  }

  return {
    async authenticate(authorization) {
      // Other schemes count as no credentials, which get no error code (RFC 6750, section 3.1), but are never anonymous.
      if (authorization === undefined ? mode === 'required' : !/^bearer( |$)/i.test(authorization))
        throw refuse('unauthenticated', 'A bearer token is required');
      if (authorization === undefined) return NOBODY;
      const token = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i.exec(authorization)?.[1];
      const verified = token === undefined ? undefined : await checked(verify, token);
      if (verified === undefined)
        throw refuse('unauthenticated', 'The bearer token is not valid here', 'invalid_token');
      const missing = needed.filter((scope) => !verified.scopes.includes(scope));
      if (missing.length > 0)
        throw refuse('insufficientScope', `The bearer token does not grant ${missing.join(' ')}`, 'insufficient_scope');
      return verified;
    },
    challenge,
    metadataAt: (path) =>
      // Clients that know the endpoint only by the host ask without its path; a proxy may serve it under another one.
      path === METADATA_PATH || path === metadataPath(resource()) || path === metadataPath(endpoint())
        ? metadata()
        : undefined,
  };
}

/** Whoever checks tokens may be away; a caller cannot help that, and must not be sent for another token. */
async function checked(verify: TokenVerifier, token: string): Promise<Verified | undefined> {
  try {
    return await verify(token);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    const cause = new Error(reasonOf(error).replaceAll(token, '[token]'));
    throw new ErrandError('authAway', 'The token cannot be checked now; try again', { cause });
  }
}

/** Why a check failed, as plain text: errors of HTTP clients carry whole requests, which must not get into a log. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  const inner = error instanceof AggregateError ? error.errors : error.cause === undefined ? [] : [error.cause];
  const text = code === undefined ? `${error.name}: ${error.message}` : `${code}: ${error.message}`;
  return inner.length === 0 ? text : `${text} (${inner.map(reasonOf).join('; ')})`;
}

function metadataPath(url: string): string {
  const { pathname } = new URL(url);
  return `${METADATA_PATH}${pathname === '/' ? '' : pathname}`;
}
