import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { ask, expectError, listen } from '../../test/asking.ts';
import { PLAIN_CLIENT } from '../../test/fixtures/frames.ts';
import { scriptedEngine } from '../../test/scripted-engine.ts';
import type { JsonObject } from '../json.ts';
import type { JsonRpcNotification } from '../jsonrpc.ts';
import { principalKey } from '../task/principal.ts';
import type { Principal } from '../task/principal.ts';
import type { Input } from '../task/input.ts';
import type { Backend } from './backend.ts';
import { createFront } from './front.ts';

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const done = {
  status: 'completed',
  outcome: { kind: 'result', result: { content: [{ type: 'text', text: 'done' }] } },
} as const;

function setUp(options: { readonly backend?: Backend; readonly maxSubscriptions?: number } = {}) {
  const engine = scriptedEngine([]);
  const exchange = createFront({
    engine,
    info: { name: 'ours', version: '1' },
    log: pino({ level: 'silent' }),
    ...options,
  });
  return { engine, exchange };
}

/** A backend that grants list changes of tools and prompts, and says what a test has it say. */
function announcing() {
  const listeners = new Set<(notification: JsonRpcNotification) => void>();
  const backend: Backend = {
    exchange: async () => ({ kind: 'accepted' }),
    watch({ toolsListChanged, resourceSubscriptions }, listener) {
      listeners.add(listener);
      const granted: JsonObject = {
        ...(toolsListChanged === true && { toolsListChanged }),
        ...(Array.isArray(resourceSubscriptions) && { resourceSubscriptions }),
      };
      return { granted, stop: () => listeners.delete(listener) };
    },
  };
  const announce = (method: string, params?: JsonObject) => {
    for (const listener of listeners) listener({ jsonrpc: '2.0', method, ...(params && { params }) });
  };
  return { backend, announce, listeners };
}

describe('subscriptions/listen', () => {
  it('acknowledges first, then tells where each task stands, then every change, then ends (E-13)', async () => {
    const { engine, exchange } = setUp();
    engine.commit('a');
    engine.commit('b', { status: 'cancelled' });
    const stream = await listen(exchange, { taskIds: ['a', 'b'] }, { id: 'sub-1' });
    const _meta = { [SUBSCRIPTION]: 'sub-1' };
    expect(await stream.next()).toEqual({
      jsonrpc: '2.0',
      method: ACKNOWLEDGED,
      params: { notifications: { taskIds: ['a', 'b'] }, _meta },
    });
    expect(await stream.next()).toMatchObject({
      method: 'notifications/tasks',
      params: { taskId: 'a', status: 'working', _meta },
    });
    expect(await stream.next()).toMatchObject({
      method: 'notifications/tasks',
      params: { taskId: 'b', status: 'cancelled', _meta },
    });
    const next = stream.next();
    engine.commit('a', { statusMessage: 'half way' });
    expect(await next).toMatchObject({ params: { taskId: 'a', statusMessage: 'half way' } });
    engine.commit('a', done);
    expect(await stream.next()).toMatchObject({
      params: { taskId: 'a', status: 'completed', result: { content: [{ text: 'done' }] } },
    });
    expect(await stream.next()).toEqual({
      jsonrpc: '2.0',
      id: 'sub-1',
      result: {
        resultType: 'complete',
        _meta: { ..._meta, 'io.modelcontextprotocol/serverInfo': { name: 'ours', version: '1' } },
      },
    });
    expect(await stream.next()).toBeUndefined();
    expect(engine.watching()).toBe(0);
  });

  it('tells of a task what tasks/get answers at that moment', async () => {
    const { engine, exchange } = setUp();
    const input: Input = { request: { method: 'roots/list', params: {} }, state: 'open' };
    engine.commit('a');
    const stream = await listen(exchange, { taskIds: ['a'] });
    await stream.next();
    const states = [
      {},
      { status: 'input_required', inputs: { q: input } },
      { status: 'working', inputs: {} },
      done,
    ] as const;
    for (const state of states) {
      engine.commit('a', state);
      const { params } = await stream.next();
      const { result } = await ask(exchange, 'tasks/get', { taskId: 'a' });
      const { _meta: _, ...told } = params;
      const { _meta: __, resultType: ___, ...got } = result!;
      expect(told).toEqual(got);
    }
  });

  it('carries the id of its request as it was written, a number as a number', async () => {
    const { engine, exchange } = setUp();
    engine.commit('a', { status: 'cancelled' });
    for (const id of [7, '7', 0]) {
      for (const message of await (await listen(exchange, { taskIds: ['a'] }, { id })).rest()) {
        expect((message.params ?? message.result)._meta[SUBSCRIPTION]).toBe(id);
      }
    }
  });

  it('grants only tasks that are there and one’s own, and tells nothing of any other', async () => {
    const { engine, exchange } = setUp();
    const alice: Principal = { kind: 'user', issuer: 'i', subject: 'alice' };
    const bob: Principal = { kind: 'user', issuer: 'i', subject: 'bob' };
    engine.commit('hers', { principal: principalKey(alice) });
    engine.commit('his', { principal: principalKey(bob) });
    const stream = await listen(exchange, { taskIds: ['hers', 'nowhere', 'his'] }, { principal: bob });
    expect(await stream.next()).toMatchObject({ params: { notifications: { taskIds: ['his'] } } });
    engine.commit('hers', done);
    engine.commit('his', done);
    const rest = await stream.rest();
    expect(rest.map(({ params }) => params?.taskId)).toEqual(['his', undefined]);
  });

  it('where nothing is granted says so and ends at once', async () => {
    const { exchange } = setUp();
    for (const filter of [{ taskIds: ['nowhere'] }, { toolsListChanged: true }, {}]) {
      const messages = await (await listen(exchange, filter)).rest();
      expect(messages).toMatchObject([
        { method: ACKNOWLEDGED, params: { notifications: {} } },
        { result: { resultType: 'complete' } },
      ]);
      expect(messages[0].params.notifications).toEqual({});
    }
  });

  it('needs the extension for tasks, and answers by HTTP 400 before any stream (E-11)', async () => {
    const { exchange } = setUp();
    const params = { notifications: { taskIds: ['a'] } };
    expectError(await ask(exchange, 'subscriptions/listen', params, { capabilities: PLAIN_CLIENT }), -32021, 400);
  });

  it('misses no change that happens while it opens', async () => {
    const { engine, exchange } = setUp();
    engine.commit('a');
    const read = engine.read.bind(engine);
    // The task ends after its state was read, and before the reader hears of that state.
    engine.read = async (principal, id) => {
      const task = await read(principal, id);
      engine.commit('a', done);
      return task;
    };
    const messages = await (await listen(exchange, { taskIds: ['a'] })).rest();
    expect(messages.map(({ params }) => params?.status)).toEqual([undefined, 'completed', undefined]);
  });

  it('never goes back to an older state that was read too slowly', async () => {
    const { engine, exchange } = setUp();
    engine.commit('a');
    const read = engine.read.bind(engine);
    engine.read = async (principal, id) => {
      const task = await read(principal, id);
      engine.commit('a', { statusMessage: 'newer' });
      return task;
    };
    const stream = await listen(exchange, { taskIds: ['a'] });
    await stream.next();
    exchange.drain();
    expect((await stream.rest()).map(({ params }) => params?.statusMessage)).toEqual(['newer', undefined]);
  });

  it('lets nothing out of somebody else’s task that changes while it opens', async () => {
    const { engine, exchange } = setUp();
    engine.commit('hers', { principal: 'alice' });
    const read = engine.read.bind(engine);
    engine.read = async (principal, id) => {
      engine.commit('hers', { statusMessage: 'secret' });
      return read(principal, id);
    };
    const messages = await (await listen(exchange, { taskIds: ['hers'] })).rest();
    expect(messages).toHaveLength(2);
    expect(messages[0].params.notifications).toEqual({});
  });

  it('keeps one state a task for a slow reader, and always the last one', async () => {
    const { engine, exchange } = setUp();
    engine.commit('a');
    engine.commit('b');
    const stream = await listen(exchange, { taskIds: ['a', 'b'] });
    await stream.next();
    for (let n = 0; n < 10_000; n += 1) engine.commit('a', { statusMessage: `${n}` });
    engine.commit('a', done);
    engine.commit('b', { status: 'cancelled' });
    expect((await stream.rest()).map(({ params }) => params?.status)).toEqual(['completed', 'cancelled', undefined]);
  });

  it('does not repeat itself when nothing changed that a client can see', async () => {
    const { engine, exchange } = setUp();
    const { lastUpdatedAt } = engine.commit('a');
    const stream = await listen(exchange, { taskIds: ['a'] });
    await stream.next();
    await stream.next();
    engine.commit('a', { wakeAt: 5, lastUpdatedAt });
    engine.commit('a', { ...done, lastUpdatedAt });
    expect((await stream.rest()).map(({ params }) => params?.status)).toEqual(['completed', undefined]);
  });

  it('ends without a word when the client leaves, and cancels nothing', async () => {
    const { engine, exchange } = setUp();
    engine.commit('a');
    const gone = new AbortController();
    const stream = await listen(exchange, { taskIds: ['a'] }, { signal: gone.signal });
    await stream.next();
    await stream.next();
    const end = stream.next();
    gone.abort();
    expect(await end).toBeUndefined();
    expect(engine.watching()).toBe(0);
    expect(engine.commit('a').status).toBe('working');
  });

  it('says nothing, and holds nothing, when the client left before the first message', async () => {
    const { engine, exchange } = setUp({ maxSubscriptions: 1 });
    engine.commit('a');
    for (const gone of [new AbortController(), new AbortController()]) {
      const stream = await listen(exchange, { taskIds: ['a'] }, { signal: gone.signal });
      gone.abort();
      expect(await stream.rest()).toEqual([]);
    }
    const stream = await listen(exchange, { taskIds: ['a'] }, { signal: AbortSignal.abort() });
    expect(await stream.rest()).toEqual([]);
    expect(engine.watching()).toBe(0);
  });

  it('is refused in-band where too many are open, until one ends', async () => {
    const { engine, exchange } = setUp({ maxSubscriptions: 3 });
    engine.commit('a');
    const gone = new AbortController();
    await listen(exchange, { taskIds: ['a'] }, { signal: gone.signal });
    await listen(exchange, { taskIds: ['a'] });
    const refusal = await ask(exchange, 'subscriptions/listen', { notifications: { taskIds: ['a'] } });
    expectError(refusal, -31002, 200);
    expect(refusal).toMatchObject({ error: { data: { retryable: true, retryAfterMs: 1000 } } });
    gone.abort();
    await listen(exchange, { taskIds: ['a'] });
  });

  it('is refused to who has more than are left for others, and never for the sake of one who takes all', async () => {
    const { engine, exchange } = setUp({ maxSubscriptions: 12 });
    const person = (subject: string): Principal => ({ kind: 'user', issuer: 'https://id.example', subject });
    async function takeAll(subject: string): Promise<number> {
      const principal = person(subject);
      engine.commit(subject, { principal: principalKey(principal) });
      for (let taken = 0; ; taken++) {
        const opened = await listen(exchange, { taskIds: [subject] }, { principal }).catch(() => undefined);
        if (opened === undefined) return taken;
      }
    }
    expect(await takeAll('greedy')).toBe(6);
    expect(await takeAll('second')).toBe(3);
    expect(await takeAll('greedy')).toBe(0);
    expect(await takeAll('third')).toBe(2);
    expect(await takeAll('fourth')).toBe(1);
  });

  it('gives its place back when it cannot be opened', async () => {
    const { engine, exchange } = setUp({ maxSubscriptions: 1 });
    const read = engine.read.bind(engine);
    engine.read = () => Promise.reject(new Error('disk'));
    expectError(await ask(exchange, 'subscriptions/listen', { notifications: { taskIds: ['a'] } }), -32603, 200);
    expect(engine.watching()).toBe(0);
    engine.read = read;
    await (await listen(exchange, { taskIds: ['a'] })).rest();
  });

  it('ends in good order when the server drains, and no other is opened', async () => {
    const { engine, exchange } = setUp();
    engine.commit('a');
    const stream = await listen(exchange, { taskIds: ['a'] });
    await stream.next();
    exchange.drain();
    expect(await stream.rest()).toMatchObject([{ params: { taskId: 'a' } }, { result: { resultType: 'complete' } }]);
    expectError(await ask(exchange, 'subscriptions/listen', { notifications: { taskIds: ['a'] } }), -31003, 503);
  });
});

describe('changes of the backend', () => {
  it('share a subscription with tasks, which then outlives them', async () => {
    const { backend, announce, listeners } = announcing();
    const { engine, exchange } = setUp({ backend });
    engine.commit('a', done);
    const gone = new AbortController();
    const filter = { taskIds: ['a'], toolsListChanged: true, promptsListChanged: true };
    const stream = await listen(exchange, filter, { id: 3, signal: gone.signal });
    expect(await stream.next()).toMatchObject({
      params: { notifications: { taskIds: ['a'], toolsListChanged: true } },
    });
    expect(await stream.next()).toMatchObject({ params: { taskId: 'a', status: 'completed' } });
    const next = stream.next();
    announce('notifications/tools/list_changed', { extra: 1 });
    expect(await next).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tools/list_changed',
      params: { extra: 1, _meta: { [SUBSCRIPTION]: 3 } },
    });
    gone.abort();
    expect(await stream.next()).toBeUndefined();
    expect(listeners.size).toBe(0);
  });

  it('are acknowledged without those that are not granted', async () => {
    const { backend } = announcing();
    const { exchange } = setUp({ backend });
    const stream = await listen(exchange, { toolsListChanged: true, promptsListChanged: true });
    expect((await stream.next()).params.notifications).toEqual({ toolsListChanged: true });
  });

  it('merge while nobody reads, by kind and by resource', async () => {
    const { backend, announce } = announcing();
    const { exchange } = setUp({ backend });
    const stream = await listen(exchange, { toolsListChanged: true, resourceSubscriptions: ['x:1', 'x:2'] });
    await stream.next();
    for (let n = 0; n < 1000; n += 1) {
      announce('notifications/tools/list_changed');
      announce('notifications/resources/updated', { uri: `x:${(n % 2) + 1}` });
    }
    exchange.drain();
    const heard = (await stream.rest()).map(({ method, params }) => [method, params?.uri]);
    expect(heard).toEqual([
      ['notifications/tools/list_changed', undefined],
      ['notifications/resources/updated', 'x:1'],
      ['notifications/resources/updated', 'x:2'],
      [undefined, undefined],
    ]);
  });
});
