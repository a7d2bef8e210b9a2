import { createHmac } from 'node:crypto';
import { exportSPKI, importJWK, type CryptoKey } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { AUDIENCE, issuer, type Issuer } from '../../../test/fixtures/issuer.ts';
import { principalKey } from '../../task/principal.ts';
import { createJwtVerifier, type JwtOptions } from './jwt.ts';

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function verifierOf({ url, keys }: Issuer, options: Partial<JwtOptions> = {}) {
  return createJwtVerifier({ issuer: url, jwks: { keys }, ...options }, () => AUDIENCE);
}

/** For how long keys are not asked for again, in ms: where there are some, where there are none, and just to be sure. */
const COOLDOWN = 30_000;
const FIRST_COOLDOWN = 1000;
const MAX_AGE = 601_000;

function laterBy(ms: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });
}

afterEach(() => vi.useRealTimers());

/** The principal's key, which says whose tasks a token opens. */
async function keyFor(from: Issuer, claims: Record<string, unknown>, options: Partial<JwtOptions> = {}) {
  const verified = await verifierOf(from, options)(await from.token(claims));
  return verified && principalKey(verified.principal);
}

describe('a token', () => {
  it('that is good says who calls, through which client, and what it may', async () => {
    const from = await issuer();
    const token = await from.token({ scope: 'read write' });
    expect(await verifierOf(from)(token)).toEqual({
      principal: { kind: 'user', issuer: from.url, subject: 'ann', client: 'app' },
      scopes: ['read', 'write'],
    });
  });

  it('may name its client as azp, its scopes as scp, and several audiences', async () => {
    const from = await issuer();
    const token = await from.token({ client_id: undefined, azp: 'web', scp: ['a', 'b'], aud: ['x', AUDIENCE] });
    expect(await verifierOf(from)(token)).toMatchObject({ principal: { client: 'web' }, scopes: ['a', 'b'] });
    expect(await verifierOf(from, { audience: ['y', 'x'] })(token)).toBeDefined();
    expect(await verifierOf(from, { audience: 'y' })(token)).toBeUndefined();
  });

  const seconds = () => Math.floor(Date.now() / 1000);
  it.each<[string, () => Record<string, unknown>]>([
    ['of another issuer', () => ({ iss: 'https://other.example' })],
    ['of no issuer', () => ({ iss: undefined })],
    ['for another audience', () => ({ aud: 'https://other.example/mcp' })],
    ['for a path below the audience', () => ({ aud: `${AUDIENCE}/x` })],
    ['for no audience', () => ({ aud: undefined })],
    ['that has expired', () => ({ exp: seconds() - 60 })],
    ['that never expires', () => ({ exp: undefined })],
    ['that is not valid yet', () => ({ nbf: seconds() + 60 })],
    ['whose times are no numbers', () => ({ exp: '2999-01-01' })],
    ['of nobody', () => ({ sub: undefined, client_id: undefined })],
    ['of an empty subject', () => ({ sub: '' })],
    ['of a subject that is no text', () => ({ sub: 7 })],
  ])('%s is not valid', async (_, claims) => {
    const from = await issuer();
    expect(await verifierOf(from)(await from.token(claims()))).toBeUndefined();
  });

  it('is taken when the clocks differ by seconds', async () => {
    const from = await issuer();
    expect(await keyFor(from, { exp: seconds() - 2, nbf: seconds() + 3 })).toBeDefined();
  });

  it('signed by a key that the issuer does not have is not valid, whatever name it gives the key', async () => {
    const [from, forger] = [await issuer(), await issuer()];
    const verify = verifierOf(from);
    expect(await verify(await forger.token({ iss: from.url }))).toBeUndefined();
    expect(await verify(await from.token({}, { kid: 'nobody-has-it' }))).toBeUndefined();
    const [head, , signature] = (await from.token()).split('.');
    expect(await verify([head, base64url({ sub: 'bob' }), signature].join('.'))).toBeUndefined();
  });

  it('without a signature is not valid (alg: none)', async () => {
    const from = await issuer();
    const payload = (await from.token()).split('.')[1];
    for (const alg of ['none', 'None', 'NONE', '']) {
      for (const signature of ['', 'AAAA'])
        expect(await verifierOf(from)(`${base64url({ alg })}.${payload}.${signature}`)).toBeUndefined();
    }
  });

  it('signed with the public key as a shared secret is not valid', async () => {
    const from = await issuer();
    const payload = (await from.token()).split('.')[1];
    const [jwk] = from.keys;
    const secrets = [await exportSPKI((await importJWK(jwk!, 'ES256')) as CryptoKey), JSON.stringify(jwk), jwk!.x!];
    for (const secret of secrets) {
      const signed = `${base64url({ alg: 'HS256', kid: jwk!.kid })}.${payload}`;
      const token = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
      expect(await verifierOf(from)(token)).toBeUndefined();
    }
  });

  it('by an algorithm that is not accepted here is not valid', async () => {
    const from = await issuer();
    const token = await from.token();
    expect(await verifierOf(from, { algorithms: ['ES256'] })(token)).toBeDefined();
    expect(await verifierOf(from, { algorithms: ['RS256'] })(token)).toBeUndefined();
  });

  it('that is garbage is not valid, and never the fault of the server', async () => {
    const from = await issuer();
    const [head, payload, signature] = (await from.token()).split('.') as [string, string, string];
    const { kid } = from.keys[0]!;
    const heads = [
      null,
      [],
      'ES256',
      {},
      { alg: 7 },
      { alg: 'toString' },
      { alg: '__proto__', kid },
      { alg: 'EdDSA', kid },
      { alg: 'RS256', kid },
      { alg: 'ES256', kid: {} },
      { alg: 'ES256', kid: 'x'.repeat(5000) },
      { alg: 'ES256', kid, crit: ['exp'] },
      { alg: 'ES256', kid, b64: false, crit: ['b64'] },
      { alg: 'ES256', kid, jwk: from.keys[0], jku: 'http://127.0.0.1:1/', x5u: 'http://127.0.0.1:1/' },
      { alg: 'dir', enc: 'A256GCM' },
    ];
    const tokens = [
      ...['', '.', '..', '...', 'x', 'x.y.z', head, `${head}.${payload}`, `${head}.${payload}.`, `.${payload}.`],
      ...[`${head}..${signature}`, `${head}.${payload}.${signature}.`, `${head}.${payload}.${signature}AAAA`],
      ...['a.b.c.d.e', 'a'.repeat(100_000), `${head}.${Buffer.from('[1]').toString('base64url')}.${signature}`],
      ...heads.map((each) => `${base64url(each)}.${payload}.${signature}`),
    ];
    const verify = verifierOf(from);
    for (const token of tokens) expect([token, await verify(token)]).toEqual([token, undefined]);
  });
});

describe('a principal', () => {
  it('is issuer, tenant and subject: users of one client differ, and one user is the same through every client', async () => {
    const from = await issuer();
    const ann = await keyFor(from, { sub: 'ann', client_id: 'app' });
    expect(ann).toBeDefined();
    expect(await keyFor(from, { sub: 'bob', client_id: 'app' })).not.toBe(ann);
    expect(await keyFor(from, { sub: 'ann', client_id: 'phone', scope: 'x' })).toBe(ann);
    const other = await issuer();
    expect(await keyFor(other, { sub: 'ann', client_id: 'app' })).not.toBe(ann);
  });

  it('is the client only where there is no subject, and never a user of the same name', async () => {
    const from = await issuer();
    const client = await keyFor(from, { sub: undefined, client_id: 'ann' });
    expect(client).toBeDefined();
    expect(await keyFor(from, { sub: 'ann', client_id: 'ann' })).not.toBe(client);
    expect(await keyFor(from, { sub: undefined, client_id: 'bob' })).not.toBe(client);
  });

  it('has the tenant that its issuer names; a token without one is not valid where tenants count', async () => {
    const from = await issuer();
    const options = { tenantClaim: 'org' };
    const acme = await keyFor(from, { org: 'acme' }, options);
    expect(acme).toBeDefined();
    expect(await keyFor(from, { org: 'umbrella' }, options)).not.toBe(acme);
    for (const org of [undefined, '', 7, ['acme']]) expect(await keyFor(from, { org }, options)).toBeUndefined();
  });
});

describe('the keys', () => {
  it('are fetched once, and again for a key that is new, but not for each name that a stranger makes up', async () => {
    const from = await issuer();
    const verify = verifierOf(from, { jwks: from.keysUrl });
    expect(await verify(await from.token())).toBeDefined();
    for (let n = 0; n < 20; n++) expect(await verify(await from.token({}, { kid: `guess-${n}` }))).toBeUndefined();
    expect(from.asked).toEqual(['/keys']);
    await from.rotate();
    laterBy(COOLDOWN);
    expect(await verify(await from.token())).toBeDefined();
    expect(from.asked).toEqual(['/keys', '/keys']);
  });

  it.each<[string, Issuer['answer']]>([
    ['are refused', (_, response) => void response.writeHead(500).end()],
    ['have moved', (_, response) => void response.writeHead(302, { location: '/keys' }).end()],
    ['are no JSON', (_, response) => void response.end('<html>')],
    ['are no key set', (_, response) => void response.end('{"keys":7}')],
    ['are cut off', (request) => void request.socket.destroy()],
    ['are too large', (_, response) => void response.end(JSON.stringify({ keys: [], more: 'x'.repeat(300_000) }))],
    ['are too many', (_, response) => void response.end(JSON.stringify({ keys: Array(101).fill({ kty: 'EC' }) }))],
  ])('that %s make a token neither good nor bad, until they are there', async (_, answer) => {
    const from = await issuer();
    const verify = verifierOf(from, { jwks: from.keysUrl });
    const token = await from.token();
    from.answer = answer;
    await expect(verify(token)).rejects.toThrow();
    from.answer = undefined;
    await expect(verify(token)).rejects.toThrow();
    laterBy(FIRST_COOLDOWN);
    expect(await verify(token)).toBeDefined();
  });

  describe.each(['named', 'found'])('that were %s', (how) => {
    const keysOf = ({ keysUrl }: Issuer) => (how === 'named' ? { jwks: keysUrl } : {});

    it('are known still while the issuer is away, however long', async () => {
      const from = await issuer();
      const verify = createJwtVerifier({ issuer: from.url, ...keysOf(from) }, () => AUDIENCE);
      expect(await verify(await from.token())).toBeDefined();
      await from.goAway();
      for (let hours = 0; hours < 3; hours++) {
        laterBy(3_600_000);
        expect(await verify(await from.token())).toBeDefined();
      }
      // The key that this one names might be new: nobody knows. It must not lock out those whose key is known.
      await expect(verify(await from.token({}, { kid: 'unknown' }))).rejects.toThrow();
      expect(await verify(await from.token())).toBeDefined();
      await from.comeBack();
      await from.rotate();
      laterBy(COOLDOWN);
      expect(await verify(await from.token())).toBeDefined();
    });

    it('make nobody wait for an issuer that is slow', async () => {
      const from = await issuer();
      const verify = createJwtVerifier({ issuer: from.url, ...keysOf(from) }, () => AUDIENCE);
      expect(await verify(await from.token())).toBeDefined();
      from.answer = () => undefined;
      laterBy(MAX_AGE);
      const begun = performance.now();
      for (let n = 0; n < 5; n++) expect(await verify(await from.token())).toBeDefined();
      expect(performance.now() - begun).toBeLessThan(2000);
    });

    it('are asked for by no stranger more often than every 30 s, whether the issuer is there or not', async () => {
      const from = await issuer();
      const verify = createJwtVerifier({ issuer: from.url, ...keysOf(from) }, () => AUDIENCE);
      const junk = (n: number) => from.token({}, { kid: `guess-${n}` });
      const sendJunk = async () => {
        from.asked.length = 0;
        const send = async (n: number) => verify(await junk(n));
        for (let n = 0; n < 20; n++) await send(n).catch(() => undefined);
        return from.asked.filter((path) => path === '/keys' || path.startsWith('/.well-known/oauth')).length;
      };
      from.answer = (_, response) => void response.writeHead(500).end();
      expect(await sendJunk()).toBe(1);
      from.answer = undefined;
      laterBy(FIRST_COOLDOWN);
      expect(await verify(await from.token())).toBeDefined();
      from.answer = (_, response) => void response.writeHead(500).end();
      laterBy(COOLDOWN);
      expect(await sendJunk()).toBe(1);
      expect(await verify(await from.token())).toBeDefined();
    });
  });

  it('are asked for where they were found, also while the metadata that named the place is away', async () => {
    const from = await issuer();
    const verify = createJwtVerifier({ issuer: from.url }, () => AUDIENCE);
    expect(await verify(await from.token())).toBeDefined();
    await from.rotate();
    from.answer = ({ url }, response) => {
      if (url === '/keys') response.end(JSON.stringify({ keys: from.keys }));
      else response.writeHead(500).end();
    };
    laterBy(COOLDOWN);
    expect(await verify(await from.token())).toBeDefined();
  });

  it('that fit are all tried for a token that names none', async () => {
    const from = await issuer();
    const forger = await issuer();
    await from.rotate();
    await from.rotate();
    for (const verify of [verifierOf(from), verifierOf(from, { jwks: from.keysUrl })]) {
      expect(await verify(await from.token({}, { kid: undefined as never }))).toBeDefined();
      expect(await verify(await forger.token({ iss: from.url }, { kid: undefined as never }))).toBeUndefined();
      expect(await verify(await from.token({ aud: 'x' }, { kid: undefined as never }))).toBeUndefined();
    }
  });
});

describe('options', () => {
  const good: JwtOptions = { issuer: 'https://issuer.example' };

  it.each<[string, Partial<Record<keyof JwtOptions, unknown>>, RegExp]>([
    ['an issuer that is no URL', { issuer: 'issuer.example' }, /auth\.issuer/],
    ['no issuer', { issuer: undefined }, /auth\.issuer/],
    [
      'an issuer whose metadata others could change',
      { issuer: 'http://issuer.example' },
      /auth\.issuer is an https URL/,
    ],
    ['an empty audience', { audience: '' }, /auth\.audience/],
    ['no audience', { audience: [] }, /auth\.audience/],
    ['keys that others could change', { jwks: 'http://issuer.example/keys' }, /auth\.jwks is an https URL/],
    ['keys by a URL that is none', { jwks: '/keys' }, /auth\.jwks is an https URL/],
  ])('with %s are refused at once', (_, options, message) => {
    expect(() => createJwtVerifier({ ...good, ...options } as JwtOptions, () => AUDIENCE)).toThrow(message);
  });

  it('that make sense ask nobody before there is a token', () => {
    for (const jwks of [{}, { jwks: 'https://issuer.example/keys' }, { jwks: 'http://localhost:1/keys' }])
      expect(() => createJwtVerifier({ ...good, ...jwks }, () => AUDIENCE)).not.toThrow();
  });
});
