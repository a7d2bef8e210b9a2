import { McpServer, requireScopes } from '@modelcontextprotocol/server';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { AUDIENCE, issuer, type IssuerOptions } from '../../test/fixtures/issuer.ts';
import { frame, headersOf, TASK_CLIENT } from '../../test/fixtures/frames.ts';
import { LIST, post, raw, servedHttp, serving, textOf } from '../../test/raw-http.ts';
import { principalKey } from '../task/principal.ts';
import type { AuthMode, AuthOptions } from './auth/bearer.ts';
import type { Exchange, Inbound } from './exchange.ts';
import { serveHttp, type HttpOptions } from './http.ts';
import { sdkBackend } from './sdk.ts';

const PATH = '/.well-known/oauth-protected-resource';

const exchange: Exchange = async () => ({ kind: 'accepted' });

/** A server that takes the tokens of an issuer of its own, and writes its log to `lines`. */
async function protectedServer(
  mode: AuthMode['mode'] = 'required',
  more: Partial<HttpOptions> = {},
  as?: IssuerOptions,
) {
  const from = await issuer(as);
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const auth: AuthOptions = { mode, issuer: from.url, audience: AUDIENCE };
  return { from, lines, ...(await servedHttp({ auth, log, ...more })) };
}

/** An SDK server with one tool, which needs a scope of its own. */
function scopedServer(): McpServer {
  const server = new McpServer({ name: 'theirs', version: '1.0.0' });
  server.registerTool('wipe', { scopeChallenge: requireScopes('admin') }, (context) => ({
    content: [{ type: 'text', text: `wiped for ${context.http?.authInfo?.scopes.join(' ')}` }],
  }));
  return server;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const body = JSON.stringify(LIST);

describe('a request', () => {
  it('with a good token is served as its subject', async () => {
    const { http, from, engine } = await protectedServer();
    engine.commit('t', { principal: principalKey({ kind: 'user', issuer: from.url, subject: 'ann' }) });
    const request = frame(1, 'tasks/get', { taskId: 't' }, TASK_CLIENT);
    const read = async (sub: string) =>
      (
        await post(http.url, JSON.stringify(request), {
          ...headersOf(request),
          ...bearer(await from.token({ sub, client_id: 'app' })),
        })
      ).json;
    expect(await read('ann')).toMatchObject({ result: { taskId: 't' } });
    expect(await read('bob')).toMatchObject({ error: { code: -32602 } });
  });

  it('without one is 401, which says where to get one, and is not read', async () => {
    const { http, engine } = await protectedServer();
    const answer = await post(http.url, '{not even JSON');
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="http://127.0.0.1:${http.port}${PATH}/mcp"`,
    );
    expect(answer.json).toEqual({ jsonrpc: '2.0', error: { code: -31005, message: 'A bearer token is required' } });
    expect(engine.calls).toEqual([]);
    // A body that never comes is not waited for.
    expect(await raw(http.port, textOf({ 'content-length': '1000', connection: 'keep-alive' }, '{'))).toContain(
      ' 401 ',
    );
  });

  it('without one is anonymous where tokens are optional; with a bad one it is 401 still (CASES 4)', async () => {
    const { http, from, engine } = await protectedServer('optional');
    engine.commit('t', { principal: principalKey({ kind: 'user', issuer: from.url, subject: 'ann' }) });
    const request = frame(1, 'tasks/get', { taskId: 't' }, TASK_CLIENT);
    const send = (headers: Record<string, string>) =>
      post(http.url, JSON.stringify(request), { ...headersOf(request), ...headers });
    expect(await send({})).toMatchObject({ status: 200, json: { error: { code: -32602 } } });
    expect((await send(bearer(await from.token({ exp: 1 })))).status).toBe(401);
    expect((await send({ authorization: 'Basic YTpi' })).status).toBe(401);
  });

  it('with two Authorization headers is 401, whichever of them is good', async () => {
    const { http, from } = await protectedServer('optional');
    const good = `Bearer ${await from.token()}`;
    const send = (...values: string[]) =>
      raw(
        http.port,
        textOf({}, body).replace('\r\n', `\r\n${values.map((value) => `Authorization: ${value}\r\n`).join('')}`),
      );
    expect(await send(good)).toContain('HTTP/1.1 200');
    for (const twice of [
      [good, good],
      [good, 'Bearer bad'],
      ['Bearer bad', good],
      [good, ''],
      ['', good],
    ])
      expect(await send(...twice)).toContain('HTTP/1.1 401');
  });

  it('with a token that is larger than a request may be is refused by its size', async () => {
    const { http } = await protectedServer();
    expect((await post(http.url, body, bearer('a'.repeat(15_000)))).status).toBe(401);
    expect(await raw(http.port, textOf(bearer('a'.repeat(20_000)), body))).toContain('HTTP/1.1 431');
  });

  it('may not carry its token in the URL', async () => {
    const { http, from } = await protectedServer();
    expect((await post(`${http.url}?access_token=${await from.token()}`, body)).status).toBe(401);
  });

  it('is 503 while the keys cannot be had, and served as soon as they can', async () => {
    const { http, from, lines } = await protectedServer();
    const token = await from.token();
    await from.goAway();
    const answer = await post(http.url, body, bearer(token));
    expect(answer).toMatchObject({ status: 503, json: { error: { code: -31006 } } });
    expect(answer.headers.has('www-authenticate')).toBe(false);
    expect(lines.join('')).toContain('ECONNREFUSED');
    await from.comeBack();
    await vi.waitFor(async () => expect((await post(http.url, body, bearer(token))).status).toBe(200), {
      timeout: 5000,
      interval: 200,
    });
  });
});

describe('a token', () => {
  it('gets into no log and no answer, whatever becomes of it', async () => {
    const { http, from, lines } = await protectedServer('optional', {}, { documents: ['openid-configuration'] });
    const answers: string[] = [];
    const tokens = [
      await from.token(),
      await from.token({ exp: 1 }),
      await from.token({ aud: 'other' }),
      await from.token({}, { kid: 'x' }),
      'garbage.garbage.garbage',
    ];
    const send = async (token: string) => {
      const { text, headers } = await post(http.url, body, bearer(token));
      answers.push(text, JSON.stringify([...headers]));
    };
    await from.goAway();
    for (const token of tokens) await send(token);
    await from.comeBack();
    await new Promise((resolve) => setTimeout(resolve, 1000)); // until it asks the issuer again
    for (const token of tokens) await send(token);
    for (const token of tokens) await post(http.url, '{', bearer(token)).then(({ text }) => answers.push(text));
    expect(answers).toHaveLength(25);
    expect(lines.length).toBeGreaterThan(0);
    const written = [...lines, ...answers].join('\n');
    // A part of a token would be too much already: the payload is anybody's to read.
    for (const part of tokens.flatMap((token) => token.split('.'))) expect(written).not.toContain(part);
  });
});

describe('the metadata', () => {
  it('is at both paths without a token, and says that it is the endpoint', async () => {
    const { http, from } = await protectedServer();
    for (const path of [PATH, `${PATH}/mcp`]) {
      const response = await fetch(new URL(path, http.url));
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
      expect(await response.json()).toEqual({
        resource: http.url,
        authorization_servers: [from.url],
        bearer_methods_supported: ['header'],
      });
    }
    const posted = await fetch(new URL(PATH, http.url), { method: 'POST', body: '{}' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
    // Not for web pages that have made a browser believe that this is their own server (DNS rebinding).
    expect(await raw(http.port, textOf({ host: 'evil.example' }, '', `GET ${PATH} HTTP/1.1`))).toContain(' 403 ');
  });

  it('is not there where nothing is protected', async () => {
    const { http } = await servedHttp();
    expect((await fetch(new URL(PATH, http.url))).status).toBe(404);
  });
});

describe('the address', () => {
  const auth: AuthOptions = { mode: 'required', issuer: 'https://issuer.example', audience: AUDIENCE };

  it('may be one that other machines reach where callers are authenticated, under any name', async () => {
    const http = await serving(exchange, { host: '0.0.0.0', auth: { ...auth, resource: AUDIENCE } });
    expect(await raw(http.port, textOf({ host: 'tasks.example' }, body))).toContain(' 401 ');
    const named = await serving(exchange, {
      host: '0.0.0.0',
      auth: { ...auth, resource: AUDIENCE },
      allowedHosts: ['a'],
    });
    expect(await raw(named.port, textOf({ host: 'tasks.example' }, body))).toContain(' 403 ');
  });

  it('without authentication is refused with what to pass', async () => {
    await expect(serveHttp(exchange, { port: 0, host: '0.0.0.0' })).rejects.toThrow(
      "pass auth: { mode: 'required', issuer, resource }, or bind 127.0.0.1",
    );
  });

  it('that stands for all is no URL for clients, so that they must be told one', async () => {
    for (const host of ['0.0.0.0', '::', '[::]'])
      await expect(serveHttp(exchange, { port: 0, host, auth })).rejects.toThrow('pass auth.resource');
  });

  it('is not bound where the options make no sense', async () => {
    const { port, close } = await serveHttp(exchange, { port: 0 });
    await close();
    const bad = { ...auth, mode: 'maybe' } as unknown as AuthOptions;
    await expect(serveHttp(exchange, { port, auth: bad })).rejects.toThrow('auth.mode');
    await expect(serveHttp(exchange, { port, auth, principal: () => ({ kind: 'local' }) })).rejects.toThrow(
      'one of them',
    );
    expect((await serving(exchange, { port })).port).toBe(port);
  });
});

describe('the scopes of a token', () => {
  it('reach the tools of an SDK server, and nothing else grants them', async () => {
    const seen: Inbound[] = [];
    const from = await issuer();
    const auth: AuthOptions = { mode: 'optional', issuer: from.url, audience: AUDIENCE };
    const http = await serving(
      async (inbound) => {
        seen.push(inbound);
        return { kind: 'accepted' };
      },
      { auth },
    );
    await post(http.url, body, bearer(await from.token({ scope: 'read write' })));
    await post(http.url, body);
    expect(seen.map(({ scopes }) => scopes)).toEqual([['read', 'write'], []]);
  });

  it('that such a tool misses are asked for by a challenge, of nobody too: no token is no better than a poor one', async () => {
    const from = await issuer();
    const auth: AuthOptions = { mode: 'optional', issuer: from.url, audience: AUDIENCE };
    const backend = sdkBackend(scopedServer);
    const http = await serving((inbound) => backend.exchange(inbound), { auth });
    const call = frame(1, 'tools/call', { name: 'wipe', arguments: {} }, TASK_CLIENT);
    const send = (headers: Record<string, string>) =>
      post(http.url, JSON.stringify(call), { ...headersOf(call), ...headers });
    const challenge = `scope="admin", resource_metadata="http://127.0.0.1:${http.port}${PATH}/mcp"`;
    const poor = await send(bearer(await from.token({ scope: 'read' })));
    expect([poor.status, poor.headers.get('www-authenticate')]).toEqual([
      403,
      `Bearer error="insufficient_scope", ${challenge}`,
    ]);
    const nobody = await send({});
    expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([401, `Bearer ${challenge}`]);
    const good = await send(bearer(await from.token({ scope: 'read admin' })));
    expect(good.json).toMatchObject({ result: { content: [{ text: 'wiped for read admin' }] } });
  });
});
