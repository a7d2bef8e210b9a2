import { describe, expect, it } from 'vitest';
import type { ErrandError } from '../../errors.ts';
import { ANONYMOUS, type Principal } from '../../task/principal.ts';
import type { TokenVerifier } from '../auth.ts';
import { createAuth, type AuthMode, type AuthOptions, type CustomTokens } from './bearer.ts';

const ENDPOINT = 'https://tasks.example/mcp';
const METADATA = 'https://tasks.example/.well-known/oauth-protected-resource/mcp';
const ann: Principal = { kind: 'user', issuer: 'i', subject: 'ann' };

/** Knows one token, which grants `read`. */
const verify: TokenVerifier = (token) => (token === 'good' ? { principal: ann, scopes: ['read'] } : undefined);

function authOf(options: Partial<AuthMode & CustomTokens> = {}) {
  return createAuth({ mode: 'required', verify, ...options }, () => ENDPOINT);
}

/** What a request with this header is refused with. */
async function refusal(auth: ReturnType<typeof authOf>, authorization: string | undefined) {
  const error = await auth.authenticate(authorization).then(
    () => undefined,
    (thrown: unknown) => thrown as ErrandError & { challenge?: string },
  );
  return error && { status: error.status, challenge: error.challenge, message: error.message };
}

describe('credentials', () => {
  it.each(['Bearer good', 'bearer good', 'BEARER good', 'bEaReR   good', 'Bearer good  '])(
    '"%s" are taken: the scheme has no case',
    async (header) => expect(await authOf().authenticate(header)).toEqual({ principal: ann, scopes: ['read'] }),
  );

  it.each(['required', 'optional'] as const)(
    'that are bad are 401 and invalid_token where a token is %s (CASES 4)',
    async (mode) => {
      const invalid = {
        status: 401,
        challenge: `Bearer error="invalid_token", error_description="The bearer token is not valid here", resource_metadata="${METADATA}"`,
        message: 'The bearer token is not valid here',
      };
      const auth = authOf({ mode });
      for (const header of [
        ...['Bearer bad', 'Bearer', 'Bearer ', 'bearer  ', 'Bearer good good', 'Bearer good, Bearer good'],
        ...[
          'Bearer good,',
          'Bearer go\u00e9d',
          'Bearer "good"',
          'Bearer =',
          'Bearer good\tgood',
          `Bearer ${'a'.repeat(1e6)}`,
        ],
      ])
        expect([header, await refusal(auth, header)]).toEqual([header, invalid]);
    },
  );

  it.each(['required', 'optional'] as const)(
    'of another scheme are 401 without an error code where a token is %s',
    async (mode) => {
      for (const header of ['Basic YTpi', 'good', 'Bearergood', 'DPoP good', '', ' '])
        expect(await refusal(authOf({ mode }), header)).toMatchObject({
          status: 401,
          challenge: `Bearer resource_metadata="${METADATA}"`,
        });
    },
  );

  it('that are missing are 401 where they are required, and anonymous where not', async () => {
    expect(await refusal(authOf(), undefined)).toMatchObject({
      status: 401,
      challenge: `Bearer resource_metadata="${METADATA}"`,
    });
    expect(await authOf({ mode: 'optional' }).authenticate(undefined)).toEqual({ principal: ANONYMOUS, scopes: [] });
  });

  it('that do not grant what every token must are 403 and say what is needed', async () => {
    const auth = authOf({ scopes: ['read', 'write'] });
    expect(await refusal(auth, 'Bearer good')).toEqual({
      status: 403,
      challenge: `Bearer error="insufficient_scope", error_description="The bearer token does not grant write", scope="read write", resource_metadata="${METADATA}"`,
      message: 'The bearer token does not grant write',
    });
    expect((await refusal(auth, undefined))?.challenge).toContain('scope="read write"');
    expect(await authOf({ scopes: ['read'] }).authenticate('Bearer good')).toBeDefined();
  });
});

describe('a check that fails', () => {
  const failing = (error: Error) => authOf({ verify: () => Promise.reject(error) });

  it('is 503 without a challenge: another token would not help', async () => {
    expect(await refusal(failing(new Error('ECONNREFUSED')), 'Bearer good')).toEqual({
      status: 503,
      challenge: undefined,
      message: 'The token cannot be checked now; try again',
    });
    await expect(failing(new Error('x')).authenticate('Bearer good')).rejects.toMatchObject({ retryable: true });
  });

  it('says why to the log, and neither the token nor the request that carried it', async () => {
    const secret = 'eyJ.very.secret';
    // As HTTP clients throw it: the whole request hangs on the error.
    const inner = Object.assign(new Error(`POST token=${secret} timed out`), { code: 'ETIMEDOUT', body: secret });
    const error = new Error('introspection failed', { cause: new AggregateError([inner], 'all addresses failed') });
    const thrown = await failing(Object.assign(error, { request: { headers: { authorization: secret } } }))
      .authenticate(`Bearer ${secret}`)
      .catch((rejected: unknown) => rejected);
    expect((thrown as { cause: Error }).cause.message).toBe(
      'Error: introspection failed (AggregateError: all addresses failed (ETIMEDOUT: POST token=[token] timed out))',
    );
    const everything = (value: unknown): string =>
      value instanceof Error
        ? Object.getOwnPropertyNames(value)
            .map((name) => everything(value[name as keyof Error]))
            .join('\n')
        : String(value);
    expect(everything(thrown)).toContain('timed out');
    expect(everything(thrown)).not.toContain(secret);
  });
});

describe('the metadata', () => {
  it('names the resource, who gives out tokens, how to send them, and the scopes', () => {
    const auth = authOf({ scopes: ['read'], authorizationServers: ['https://issuer.example'] });
    expect(auth.metadataAt('/.well-known/oauth-protected-resource/mcp')).toEqual({
      resource: ENDPOINT,
      authorization_servers: ['https://issuer.example'],
      bearer_methods_supported: ['header'],
      scopes_supported: ['read'],
    });
    expect(authOf().metadataAt('/.well-known/oauth-protected-resource')).toEqual({
      resource: ENDPOINT,
      bearer_methods_supported: ['header'],
    });
  });

  it('is at no other path', () => {
    for (const path of [
      '/',
      '/mcp',
      '/.well-known/oauth-protected-resource/',
      '/.well-known/oauth-protected-resource/x',
    ])
      expect(authOf().metadataAt(path)).toBeUndefined();
  });

  it('is by the path that clients know, and by the one that a proxy asks for', () => {
    const auth = createAuth({ mode: 'required', verify, resource: 'https://public.example/tools' }, () => ENDPOINT);
    for (const path of ['', '/tools', '/mcp'])
      expect(auth.metadataAt(`/.well-known/oauth-protected-resource${path}`)).toMatchObject({
        resource: 'https://public.example/tools',
      });
    expect(auth.challenge(['admin'], 'insufficient_scope')).toBe(
      'Bearer error="insufficient_scope", scope="admin", resource_metadata="https://public.example/.well-known/oauth-protected-resource/tools"',
    );
  });

  it('of an endpoint at the root has no path', () => {
    const auth = createAuth({ mode: 'required', verify }, () => 'https://tasks.example/');
    expect(auth.challenge([])).toContain(
      'resource_metadata="https://tasks.example/.well-known/oauth-protected-resource"',
    );
  });
});

describe('options', () => {
  it.each([
    ['no mode', { verify }, /auth\.mode/],
    ['another mode', { mode: 'on', verify }, /auth\.mode/],
    ['a resource that is no URL', { mode: 'required', verify, resource: '/mcp' }, /auth\.resource/],
    ['neither tokens nor a verifier', { mode: 'required' }, /auth\.issuer/],
  ])('with %s are refused', (_, options, message) => {
    expect(() => createAuth(options as unknown as AuthOptions, () => ENDPOINT)).toThrow(message);
  });
});
