import type { MadeCall } from '../../test/scripted-engine.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { frame, headersOf, messagesOf, PLAIN_CLIENT, TASK_CLIENT } from '../../test/fixtures/frames.ts';
import { alice, anonymous, LIST, post, raw, servedHttp, serving, textOf } from '../../test/raw-http.ts';
import type { CallAnswer } from '../engine/engine.ts';
import type { Exchange } from './exchange.ts';
import { serveHttp } from './http.ts';
import type { HttpServing } from './http.ts';
import { KEEP_ALIVE_MS } from './http/sse.ts';

afterEach(() => vi.useRealTimers());

describe('an answer', () => {
  it('is one line of JSON with its length, under the status of its error', async () => {
    const { http, engine } = await servedHttp();
    engine.commit('t', anonymous);
    const ok = await post(http.url, JSON.stringify(LIST));
    expect(ok.status).toBe(200);
    expect(ok.text).not.toContain('\n');
    expect(ok.headers.get('content-type')).toBe('application/json');
    expect(ok.headers.get('content-length')).toBe(`${Buffer.byteLength(ok.text)}`);
    expect(ok.headers.has('mcp-session-id')).toBe(false);
  });

  it.each([
    ['an unknown method', 'nope', {}, TASK_CLIENT, {}, 404, -32601],
    ['a method of older revisions', 'tasks/result', { taskId: 't' }, TASK_CLIENT, {}, 404, -32601],
    ['an unknown task', 'tasks/get', { taskId: 'x' }, TASK_CLIENT, {}, 200, -32602],
    ['an unknown tool', 'tools/call', { name: 'x' }, TASK_CLIENT, {}, 200, -32602],
    ['arguments that are none', 'tools/call', { name: 'work', arguments: [] }, TASK_CLIENT, {}, 200, -32602],
    ['an undeclared extension', 'tasks/get', { taskId: 't' }, PLAIN_CLIENT, {}, 400, -32021],
    ['a missing Mcp-Name', 'tasks/cancel', { taskId: 't' }, TASK_CLIENT, { 'mcp-name': undefined }, 400, -32020],
    [
      'another Mcp-Name',
      'tasks/update',
      { taskId: 't', inputResponses: {} },
      TASK_CLIENT,
      { 'mcp-name': 'u' },
      400,
      -32020,
    ],
    ['another Mcp-Method', 'tools/list', {}, TASK_CLIENT, { 'mcp-method': 'tools/call' }, 400, -32020],
    [
      'a missing MCP-Protocol-Version',
      'tools/list',
      {},
      TASK_CLIENT,
      { 'mcp-protocol-version': undefined },
      400,
      -32020,
    ],
  ])('to %s has its status and code', async (_, method, params, capabilities, headers, status, code) => {
    const { client } = await servedHttp();
    expect(await client.send(method, params, { capabilities, headers })).toMatchObject({ status, error: { code } });
  });

  it('to a request without an envelope, or of another revision, is 400', async () => {
    const { http } = await servedHttp();
    const { params: _, ...bare } = LIST;
    expect(await post(http.url, JSON.stringify(bare))).toMatchObject({
      status: 400,
      json: { id: 1, error: { code: -32602 } },
    });
    const other = JSON.stringify(LIST).replaceAll('2026-07-28', 'v999.0.0');
    expect(await post(http.url, other, { 'mcp-protocol-version': 'v999.0.0' })).toMatchObject({
      status: 400,
      json: { error: { code: -32022, data: { supported: ['2026-07-28'], requested: 'v999.0.0' } } },
    });
  });

  it('to a notification is 202 without a body', async () => {
    const { http } = await servedHttp();
    const answer = await post(
      http.url,
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }),
    );
    expect(answer).toMatchObject({ status: 202, text: '' });
  });

  it('to a batch, or to a response, is 400 and -32600 without an id', async () => {
    const { http } = await servedHttp();
    for (const body of [[LIST], [], { jsonrpc: '2.0', id: 1, result: {} }]) {
      const { status, json } = await post(http.url, JSON.stringify(body));
      expect({ status, json }).toEqual({
        status: 400,
        json: { jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } },
      });
    }
  });

  it.each([
    ['no JSON', '{'],
    ['nothing', ''],
    ['bytes that are no UTF-8', Buffer.from('7b2261223a22c328227d', 'hex')],
  ])('to %s is 400 and -32700 without an id', async (_, body) => {
    const { http } = await servedHttp();
    const { status, json } = await post(http.url, body);
    expect({ status, json }).toEqual({
      status: 400,
      json: { jsonrpc: '2.0', error: { code: -32700, message: expect.any(String) } },
    });
  });

  it('to what breaks in the server itself is 500 and gives nothing away', async () => {
    const { url } = await serving(() => Promise.reject(new Error('secret')));
    const answer = await post(url, JSON.stringify(LIST));
    expect(answer).toMatchObject({ status: 500, json: { id: 1, error: { code: -32603, message: 'Internal error' } } });
    expect(answer.text).not.toContain('secret');
  });
});

describe('a request', () => {
  it('by any method but POST is 405, and told so', async () => {
    const { http } = await servedHttp();
    for (const method of ['GET', 'DELETE', 'PUT', 'OPTIONS']) {
      const response = await fetch(http.url, { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  it('of another media type is 415', async () => {
    const { http } = await servedHttp();
    for (const type of ['text/plain', 'application/jsonp', 'application/x-www-form-urlencoded', '']) {
      expect(await post(http.url, JSON.stringify(LIST), { 'content-type': type })).toMatchObject({ status: 415 });
    }
    for (const type of ['Application/JSON', 'application/json; charset=utf-8', 'application/json;x']) {
      expect(await post(http.url, JSON.stringify(LIST), { 'content-type': type })).toMatchObject({ status: 200 });
    }
  });

  it('to another path is 404 and says where the endpoint is', async () => {
    const { http } = await servedHttp({ path: '/rpc' });
    for (const path of ['/', '/mcp', '/rpc/x', '/rpcx']) {
      const { status, json } = await post(new URL(path, http.url).href, JSON.stringify(LIST));
      expect(status).toBe(404);
      expect(json.error).toContain('/rpc');
    }
    expect(await post(`${http.url}?x=1`, JSON.stringify(LIST))).toMatchObject({ status: 200 });
  });

  it('may write header names in any case, and pad the values', async () => {
    const { http } = await servedHttp();
    const padded = textOf({}, JSON.stringify(LIST)).replace('mcp-method: tools/list', 'MCP-METHOD: \t tools/list  \t');
    expect(await raw(http.port, padded)).toContain('HTTP/1.1 200');
  });

  it('that repeats a header does not fit its body', async () => {
    const { http } = await servedHttp();
    const twice = textOf({}, JSON.stringify(LIST)).replace(
      'mcp-method: tools/list',
      'mcp-method: tools/list\r\nMcp-Method: tools/list',
    );
    const answer = await raw(http.port, twice);
    expect(answer).toContain('HTTP/1.1 400');
    expect(answer).toContain('-32020');
  });

  it('with a name that is no ASCII is understood as base64', async () => {
    const { client, engine } = await servedHttp();
    engine.commit('tâche', anonymous);
    const headers = { 'mcp-name': `=?base64?${Buffer.from('tâche').toString('base64')}?=` };
    expect(await client.send('tasks/get', { taskId: 'tâche' }, { headers })).toMatchObject({
      result: { taskId: 'tâche' },
    });
  });

  it('has a signal that aborts when the client leaves', async () => {
    const called = deferred<MadeCall>();
    const { client } = await servedHttp({}, (call) => {
      called.resolve(call);
      return new Promise(() => {});
    });
    const leave = new AbortController();
    const answer = client.send('tools/call', { name: 'work' }, { signal: leave.signal }).catch(() => 'left');
    const { signal } = await called.promise;
    expect(signal.aborted).toBe(false);
    leave.abort();
    expect(await answer).toBe('left');
    await vi.waitFor(() => expect(signal.aborted).toBe(true));
  });

  it('that was answered has a signal that never aborts', async () => {
    const { client, engine, http } = await servedHttp();
    await client.send('tools/call', { name: 'work' });
    await http.close();
    expect(engine.calls[0]!.signal.aborted).toBe(false);
  });
});

describe('the address', () => {
  const exchange: Exchange = async () => ({ kind: 'accepted' });

  it.each(['0.0.0.0', '::', '192.168.0.1', 'example.com', '127.0.0.1.example.com'])(
    '%s needs authentication',
    async (host) => {
      await expect(serveHttp(exchange, { port: 0, host })).rejects.toThrow(/authentication/);
    },
  );

  it('of loopback does not, in either family', async () => {
    expect((await serving(exchange, { host: 'localhost' })).url).toMatch(/^http:\/\/localhost:\d+\/mcp$/);
    for (const host of ['::1', '[::1]']) {
      const http = await serving(exchange, { host }).catch((error: NodeJS.ErrnoException) => error.code);
      if (http === 'EADDRNOTAVAIL') return;
      expect(http).toMatchObject({ url: expect.stringMatching(/^http:\/\/\[::1\]:\d+\/mcp$/) });
      expect(await raw((http as HttpServing).port, textOf({ host: '[::1]' }, '{'), '::1')).toContain('-32700');
    }
  });

  it('may be any where callers are known', async () => {
    const http = await serving(exchange, { host: '0.0.0.0', principal: () => alice });
    expect((await post(`http://127.0.0.1:${http.port}/mcp`, JSON.stringify(LIST))).status).toBe(202);
    expect(await raw(http.port, textOf({ host: 'any.example' }, JSON.stringify(LIST)))).toContain('HTTP/1.1 202');
  });

  it('that is taken makes serving fail', async () => {
    const { port } = await serving(exchange);
    await expect(serveHttp(exchange, { port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

describe('a stream', () => {
  const listenTo = async (url: string, taskIds: string[], signal?: AbortSignal) => {
    const request = frame('s', 'subscriptions/listen', { notifications: { taskIds } }, TASK_CLIENT);
    return fetch(url, {
      method: 'POST',
      headers: headersOf(request),
      body: JSON.stringify(request),
      ...(signal && { signal }),
    });
  };

  it('is server-sent events that no proxy holds back', async () => {
    const { http, engine } = await servedHttp();
    engine.commit('t', { ...anonymous, status: 'cancelled' });
    const response = await listenTo(http.url, ['t']);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    const events = (await response.text()).split('\n\n');
    expect(events.shift()).toMatch(/^: /); // something goes out before there is anything to say
    expect(events.pop()).toBe('');
    expect(events).toHaveLength(3);
    for (const event of events) expect(event).toMatch(/^event: message\ndata: \{"jsonrpc":"2.0",.*\}$/);
  });

  it('brings a change at once, not with the next poll (CASES 27)', async () => {
    const { engine, client } = await servedHttp();
    engine.commit('t', anonymous);
    const listening = await client.listen(['t']);
    onTestFinished(() => listening.close());
    await listening.next(({ params }) => params?.status === 'working');
    const begun = performance.now();
    engine.commit('t', { status: 'completed', outcome: { kind: 'result', result: { content: [] } } });
    await listening.next(({ params }) => params?.status === 'completed');
    expect(performance.now() - begun).toBeLessThan(500);
  });

  it('that the client closes is let go of, and cancels nothing', async () => {
    const { http, engine } = await servedHttp();
    engine.commit('t', anonymous);
    const leave = new AbortController();
    const response = await listenTo(http.url, ['t'], leave.signal);
    for await (const message of messagesOf(response))
      if ('method' in message && message.method === 'notifications/tasks') break;
    expect(engine.watching()).toBe(1);
    leave.abort();
    await vi.waitFor(() => expect(engine.watching()).toBe(0));
    expect(engine.commit('t').status).toBe('working');
  });

  it('says every 15 s that it lives', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { http, engine } = await servedHttp();
    engine.commit('t', anonymous);
    const response = await listenTo(http.url, ['t']);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const until = async (part: string) => {
      while (!text.includes(part)) text += (await reader.read()).value ?? '';
    };
    await until('"working"');
    expect(text).not.toMatch(/\n:/);
    vi.advanceTimersByTime(KEEP_ALIVE_MS);
    await until('\n\n: keep-alive\n\n');
    expect(KEEP_ALIVE_MS).toBe(15_000);
    await reader.cancel();
    await vi.waitFor(() => expect(engine.watching()).toBe(0));
  });

  it('that breaks is cut off, and the log told why', async () => {
    const logged: string[] = [];
    const messages = async function* () {
      yield { jsonrpc: '2.0', method: 'notifications/x' } as const;
      throw new Error('the disk is full');
    };
    const log = pino({}, { write: (line: string) => void logged.push(line) });
    const { url } = await serving(async () => ({ kind: 'stream', messages: messages() }), { log });
    const response = await fetch(url, { method: 'POST', headers: headersOf(LIST), body: JSON.stringify(LIST) });
    await expect(response.text()).rejects.toThrow();
    expect(logged.join()).toContain('the disk is full');
  });

  it('waits for a client that does not read, and holds only the latest states for it', async () => {
    let made = 0;
    const { url } = await serving(async () => ({
      kind: 'stream',
      messages: (async function* () {
        for (; made < 10_000; made += 1)
          yield { jsonrpc: '2.0', method: 'notifications/x', params: { fill: 'x'.repeat(100_000) } } as const;
      })(),
    }));
    const leave = new AbortController();
    await fetch(url, { method: 'POST', headers: headersOf(LIST), body: JSON.stringify(LIST), signal: leave.signal });
    await wait(300);
    expect(made).toBeLessThan(1000);
    leave.abort();
  });
});

describe('close', () => {
  it('frees the port at once where nothing is under way', async () => {
    const { http, client } = await servedHttp();
    await client.send('tools/list', {});
    const begun = performance.now();
    await http.close();
    expect(performance.now() - begun).toBeLessThan(1000);
    await expect(fetch(http.url)).rejects.toThrow();
    await http.close();
  });

  it('lets a call under way end, and takes no other', async () => {
    const called = deferred<void>();
    const answer = deferred<CallAnswer>();
    const { http, client } = await servedHttp({}, () => {
      called.resolve();
      return answer.promise;
    });
    const under = client.send('tools/call', { name: 'work' });
    await called.promise;
    const closed = http.close();
    await expect(client.send('tools/list', {})).rejects.toThrow();
    answer.resolve({ kind: 'result', result: { content: [] } });
    expect(await under).toMatchObject({ status: 200, result: { resultType: 'complete' } });
    await closed;
  });

  it.each([
    [
      'that heeds the end of it',
      async ({ signal }: MadeCall) => {
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    ],
    ['that heeds nothing', () => new Promise<never>(() => {})],
  ])('answers a call %s, and does not cut it off', async (_, handler) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const called = deferred<void>();
    const { http, client } = await servedHttp({}, async (call) => {
      called.resolve();
      return (await handler(call)) as never;
    });
    const under = client.send('tools/call', { name: 'work' });
    await called.promise;
    const closed = http.close();
    vi.advanceTimersByTime(9_500);
    expect(await under).toMatchObject({ status: 503, error: { code: -31003 } });
    await closed;
  });

  it('ends subscriptions in good order once the front drains', async () => {
    const { http, front, engine, client } = await servedHttp();
    engine.commit('t', anonymous);
    const listening = await client.listen(['t']);
    await listening.next(({ method }) => method === 'notifications/tasks');
    front.drain();
    await http.close();
    await vi.waitFor(() => expect(listening.messages.at(-1)).toMatchObject({ result: { resultType: 'complete' } }));
  });
});

function deferred<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}
