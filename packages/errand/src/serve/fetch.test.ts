import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { frame, headersOf, messagesOf, TASK_CLIENT } from '../../test/fixtures/frames.ts';
import { scriptedEngine } from '../../test/scripted-engine.ts';
import { assertValidFrame } from '../../test/wire-schemas.ts';
import type { Loose } from '../../test/wire-schemas.ts';
import type { CallAnswer } from '../engine/engine.ts';
import type { JsonObject } from '../json.ts';
import { principalKey } from '../task/principal.ts';
import type { Principal } from '../task/principal.ts';
import { fetchFace } from './fetch.ts';
import type { FetchFacts } from './fetch.ts';
import { createFront } from './front.ts';

const URL = 'http://localhost:8787/anything';
const alice: Principal = { kind: 'user', issuer: 'i', subject: 'alice' };
const anonymous = { principal: principalKey({ kind: 'anonymous' }) };
const LIST = frame(1, 'tools/list', {}, TASK_CLIENT);

function setUp(answer?: () => CallAnswer | Promise<CallAnswer>) {
  const engine = scriptedEngine([{ name: 'work', inputSchema: { type: 'object' } }], answer);
  const face = fetchFace(createFront({ engine, info: { name: 'ours', version: '1' }, log: pino({ level: 'silent' }) }));
  const ask = async (method: string, params: JsonObject, facts?: FetchFacts): Promise<Loose> => {
    const request = frame(1, method, params, TASK_CLIENT);
    const response = await face(
      new Request(URL, { method: 'POST', headers: headersOf(request), body: JSON.stringify(request) }),
      facts,
    );
    const body: unknown = await response.json();
    assertValidFrame(body, request);
    return { status: response.status, ...(body as object) };
  };
  return { engine, face, ask };
}

const post = (
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null = JSON.stringify(LIST),
  headers: Record<string, string> = {},
  url = URL,
) =>
  new Request(url, {
    method: 'POST',
    headers: { ...headersOf(LIST), ...headers },
    body,
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  });

describe('a web-standard request', () => {
  it('is answered like one over node:http', async () => {
    const { engine, ask } = setUp();
    engine.commit('t', anonymous);
    expect(await ask('tasks/get', { taskId: 't' })).toMatchObject({
      status: 200,
      result: { taskId: 't', status: 'working' },
    });
    expect(await ask('tasks/get', { taskId: 'u' })).toMatchObject({ status: 200, error: { code: -32602 } });
    expect(await ask('nope', {})).toMatchObject({ status: 404, error: { code: -32601 } });
  });

  it('without an answer is 202', async () => {
    const response = await setUp().face(post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/x' })));
    expect([response.status, await response.text()]).toEqual([202, '']);
  });

  it('that cannot carry a message has the status that says why', async () => {
    const { face } = setUp();
    const get = await face(new Request(URL));
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await face(post('{}', { 'content-type': 'text/plain' }))).status).toBe(415);
    expect((await face(post('{}', { 'content-length': '99999999' }))).status).toBe(413);
    expect((await face(post('{'))).status).toBe(400);
    expect((await face(post(null))).status).toBe(400);
    expect((await face(post(Buffer.from('7b2261223a22c328227d', 'hex')))).status).toBe(400);
  });

  it('that streams more than 4 MiB is refused, and its stream let go of', async () => {
    let sent = 0;
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(1024 * 1024));
      },
      cancel: () => void (cancelled = true),
    });
    expect((await setUp().face(post(body))).status).toBe(413);
    expect(cancelled).toBe(true);
    expect(sent).toBeLessThan(10);
  });

  it('that breaks the exchange itself is 500 and gives nothing away', async () => {
    const response = await fetchFace(() => Promise.reject(new Error('secret')))(post());
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32603, message: 'Internal error' },
    });
  });
});

describe('who asks', () => {
  it('is whom the host says, and anonymous otherwise', async () => {
    const { engine, ask } = setUp();
    engine.commit('t', { principal: principalKey(alice) });
    expect(await ask('tasks/get', { taskId: 't' }, { principal: alice })).toMatchObject({ result: { taskId: 't' } });
    expect(await ask('tasks/get', { taskId: 't' })).toMatchObject({ error: { code: -32602 } });
  });

  it('must, where the host does not say, come by a loopback name and from no foreign page', async () => {
    const { face } = setUp();
    const status = async (url: string, headers: Record<string, string> = {}, facts?: FetchFacts) =>
      (await face(post(undefined, headers, url), facts)).status;
    expect(await status('http://127.0.0.1/mcp')).toBe(200);
    expect(await status('http://[::1]:99/mcp')).toBe(200);
    expect(await status('https://tasks.example/mcp')).toBe(403);
    expect(await status('http://localhost/mcp', { host: 'evil.example' })).toBe(403);
    expect(await status('http://localhost/mcp', { origin: 'https://evil.example' })).toBe(403);
    expect(await status('https://tasks.example/mcp', { origin: 'https://app.example' }, { principal: alice })).toBe(
      200,
    );
  });
});

describe('a stream', () => {
  const listen = (taskId: string, signal?: AbortSignal) => {
    const request = frame(1, 'subscriptions/listen', { notifications: { taskIds: [taskId] } }, TASK_CLIENT);
    return new Request(URL, {
      method: 'POST',
      headers: headersOf(request),
      body: JSON.stringify(request),
      ...(signal && { signal }),
    });
  };

  it('is server-sent events up to the result', async () => {
    const { engine, face } = setUp();
    engine.commit('t', { ...anonymous, status: 'cancelled' });
    const response = await face(listen('t'));
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const messages: Loose[] = [];
    for await (const message of messagesOf(response)) messages.push(message);
    expect(messages.map(({ method, result }) => method ?? result.resultType)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tasks',
      'complete',
    ]);
  });

  it('is let go of when its reader stops, or its request is aborted', async () => {
    const { engine, face } = setUp();
    engine.commit('t', anonymous);
    const stopped = (await face(listen('t'))).body!.getReader();
    await stopped.read();
    await stopped.cancel();
    await vi.waitFor(() => expect(engine.watching()).toBe(0));
    const leave = new AbortController();
    const aborted = (await face(listen('t', leave.signal))).body!.getReader();
    await aborted.read();
    expect(engine.watching()).toBe(1);
    leave.abort();
    await vi.waitFor(() => expect(engine.watching()).toBe(0));
  });
});

describe('a call', () => {
  it('has a signal that aborts with its request', async () => {
    const { engine, face } = setUp(() => new Promise(() => {}));
    const leave = new AbortController();
    const request = frame(1, 'tools/call', { name: 'work' }, TASK_CLIENT);
    void face(
      new Request(URL, {
        method: 'POST',
        headers: headersOf(request),
        body: JSON.stringify(request),
        signal: leave.signal,
      }),
    );
    await vi.waitFor(() => expect(engine.calls).toHaveLength(1));
    expect(engine.calls[0]!.signal.aborted).toBe(false);
    leave.abort();
    expect(engine.calls[0]!.signal.aborted).toBe(true);
  });
});
