import {
  createLocalJWKSet,
  errors,
  jwtVerify,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose';
import type { Principal } from '../../task/principal.ts';
import type { TokenVerifier } from '../auth.ts';
import { discoverKeysUrl, secureUrl } from './discovery.ts';
import { remoteKeys } from './keys.ts';

/** JWT access tokens of one authorization server. */
export interface JwtOptions {
  /** The issuer, exactly as tokens name it (`iss`). */
  readonly issuer: string;
  /** The audience that a token must name (`aud`), one of them where there are several. Default: the URL of the endpoint. */
  readonly audience?: string | readonly string[];
  /** The issuer's keys: the URL of its JWKS, or the key set. Default: found through the issuer's metadata. */
  readonly jwks?: string | JSONWebKeySet;
  /** Signature algorithms that are accepted. Default: the asymmetric ones of JWS. */
  readonly algorithms?: readonly string[];
  /** The claim that names the caller's tenant, where an issuer serves several. */
  readonly tenantClaim?: string;
}

/** A key set of a server is public, so a shared-secret signature by one of its keys would prove nothing. */
const ASYMMETRIC = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** By how much the clocks of issuer and server may differ, in seconds. */
const CLOCK_TOLERANCE = 5;

/**
 * Checks JWTs for the endpoint of which `resource` gives the URL. The verifier resolves with `undefined` for a bad
 * token, and rejects where the keys cannot be had. Throws `TypeError` for options that make no sense.
 */
export function createJwtVerifier(options: JwtOptions, resource: () => string): TokenVerifier {
  const { issuer, audience, algorithms = ASYMMETRIC, tenantClaim } = options;
  if (!URL.canParse(issuer))
    throw new TypeError(`auth.issuer is the URL of the authorization server; ${JSON.stringify(issuer)} is none`);
  // To jose no audience means any.
  if (audience?.length === 0) throw new TypeError('auth.audience says for whom a token must be, which is not nobody');
  const keys = keysOf(options);
  const rules = {
    issuer,
    algorithms: [...algorithms],
    clockTolerance: CLOCK_TOLERANCE,
    requiredClaims: ['exp'],
  };
  return async (token) => {
    try {
      const payload = await payloadOf(token, keys, { ...rules, audience: [audience ?? resource()].flat() });
      const principal = principalOf(payload, issuer, tenantClaim);
      return principal && { principal, scopes: scopesOf(payload) };
    } catch (error) {
      // A token that names no key of the issuer is at fault itself; that its keys cannot be had is not its fault.
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  };
}

function keysOf({ issuer, jwks }: JwtOptions): JWTVerifyGetKey {
  if (typeof jwks === 'object') return createLocalJWKSet(jwks);
  if (jwks !== undefined) {
    const url = secureUrl(jwks, 'auth.jwks');
    return remoteKeys(() => Promise.resolve(url));
  }
  secureUrl(issuer, 'auth.issuer');
  return remoteKeys(() => discoverKeysUrl(issuer));
}

/** What a token says, once it is known to be good. One that names no key may be signed by any that fits. */
async function payloadOf(token: string, keys: JWTVerifyGetKey, rules: JWTVerifyOptions): Promise<JWTPayload> {
  let several: errors.JWKSMultipleMatchingKeys;
  try {
    return (await jwtVerify(token, keys, rules)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    several = error;
  }
  for await (const key of several) {
    try {
      return (await jwtVerify(token, key, rules)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}

function principalOf(payload: JWTPayload, issuer: string, tenantClaim: string | undefined): Principal | undefined {
  const { sub, client_id: clientId, azp } = payload;
  const client = [clientId, azp].find(isName);
  const tenant = tenantClaim === undefined ? undefined : payload[tenantClaim];
  // Where tenants count, a token that names none belongs to no one; nor does one whose subject is not a name.
  if (tenantClaim !== undefined && !isName(tenant)) return undefined;
  if (sub === undefined ? client === undefined : !isName(sub)) return undefined;
  return {
    kind: 'user',
    issuer,
    ...(sub === undefined ? {} : { subject: sub }),
    ...(isName(tenant) ? { tenant } : {}),
    ...(client === undefined ? {} : { client }),
  };
}

function isName(claim: unknown): claim is string {
  return typeof claim === 'string' && claim !== '';
}

function scopesOf({ scope, scp }: JWTPayload): string[] {
  const granted = scope ?? scp;
  if (typeof granted === 'string') return granted.split(' ').filter((name) => name !== '');
  return Array.isArray(granted) ? granted.filter((name) => typeof name === 'string') : [];
}
