import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { AUDIENCE, issuer } from '../../../test/fixtures/issuer.ts';
import { discoverKeysUrl } from './discovery.ts';
import { createJwtVerifier } from './jwt.ts';

test('keys are found through the metadata of OAuth', async () => {
  const from = await issuer();
  expect(await discoverKeysUrl(from.url)).toEqual(new URL(from.keysUrl));
  expect(from.asked).toEqual(['/.well-known/oauth-authorization-server']);
});

test('keys are found through the metadata of OpenID Connect where there is no other', async () => {
  const from = await issuer({ documents: ['openid-configuration'] });
  expect(await discoverKeysUrl(from.url)).toEqual(new URL(from.keysUrl));
});

test('the metadata of an issuer with a path is where RFC 8414 or OpenID Connect puts it', async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(discoverKeysUrl(`http://127.0.0.1:${port}/tenant`)).rejects.toThrow('names no keys');
  expect(asked).toEqual(['/.well-known/oauth-authorization-server/tenant', '/tenant/.well-known/openid-configuration']);
});

test.each([
  ['another issuer', { issuer: 'https://other.example' }],
  ['no keys', { jwks_uri: undefined }],
  ['keys that others on the network could change', { jwks_uri: 'http://issuer.example/keys' }],
])('metadata that names %s is not taken', async (_, metadata) => {
  const from = await issuer({ metadata });
  await expect(discoverKeysUrl(from.url)).rejects.toThrow('names no keys');
});

test('many callers at once are one search, and a search that failed is made anew', async () => {
  const from = await issuer();
  const verify = createJwtVerifier({ issuer: from.url }, () => AUDIENCE);
  const token = await from.token();
  await from.goAway();
  const tries = () => Promise.allSettled(Array.from({ length: 5 }, async () => verify(token)));
  expect((await tries()).map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
  await from.comeBack();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 1000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await tries()).toEqual(
    Array(5).fill({ status: 'fulfilled', value: expect.objectContaining({ scopes: [] }) as unknown }),
  );
  expect(from.asked).toEqual(['/.well-known/oauth-authorization-server', '/keys']);
});
