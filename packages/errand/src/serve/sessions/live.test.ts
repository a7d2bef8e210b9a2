import { describe, expect, it } from 'vitest';
import type { SessionDialect } from '../../dialect.ts';
import type { Engine } from '../../engine/engine.ts';
import type { JsonObject } from '../../json.ts';
import { ANONYMOUS } from '../../task/principal.ts';
import type { Backend } from '../backend.ts';
import type { Pipe } from '../exchange.ts';
import { Live, RESUMABLE_MS } from './live.ts';
import { createRegister } from './register.ts';
import type { Tokens } from './token.ts';

/** What the backend is asked to tell of. */
function watchedBackend() {
  const watching = new Set<JsonObject>();
  const backend: Backend = {
    exchange: async () => ({ kind: 'accepted' }),
    watch(filter) {
      watching.add(filter);
      return { granted: filter, stop: () => void watching.delete(filter) };
    },
  };
  return { backend, watching };
}

const engine = { onForeignTasks: () => () => undefined } as unknown as Engine;
const session = { key: 's', principal: ANONYMOUS, dialect: { follows: 'get' } as SessionDialect };

function setUp() {
  let made = 0;
  const { backend, watching } = watchedBackend();
  const live = new Live(session, { engine, backend, tokens: { stream: () => `stream-${++made}` } });
  return { live, watching, made: () => made };
}

/** Opens a stream, and gives how its client goes away. */
async function listening(live: Live): Promise<() => void> {
  const gone = new AbortController();
  const stream = live.open({ kind: 'any' });
  await stream.read(undefined, gone.signal)[Symbol.asyncIterator]().next();
  return () => gone.abort();
}

describe('what is kept of a session', () => {
  it('hears of the backend as long as there is a way to the client, and no longer', async () => {
    const { live, watching } = setUp();
    live.followResource('note://today', true);
    expect([...watching]).toEqual([]);
    const leave = await listening(live);
    expect([...watching]).toMatchObject([{ toolsListChanged: true, resourceSubscriptions: ['note://today'] }]);
    live.followResource('note://today', false);
    expect([...watching]).toMatchObject([{ resourceSubscriptions: [] }]);
    leave();
    expect(watching.size).toBe(1);
    live.sweep(performance.now() + RESUMABLE_MS + 1);
    expect(watching.size).toBe(0);
    expect(live.isEmpty).toBe(true);
  });

  it('names a stream only once its client is told of it', async () => {
    const { live, made } = setUp();
    live.discard(live.open({ kind: 'request', request: 1 }));
    expect(made()).toBe(0);
    const stream = live.open({ kind: 'request', request: 2 });
    expect(live.stream('stream-1')).toBeUndefined();
    const events = stream.read(undefined, new AbortController().signal)[Symbol.asyncIterator]();
    expect(await events.next()).toMatchObject({ value: { id: 'stream-1.0' } });
    expect(live.stream('stream-1')).toBe(stream);
  });
});

describe('a pipe', () => {
  it('has one session, also where its client opens another', () => {
    const { backend, watching } = watchedBackend();
    const register = createRegister({ engine, backend, tokens: async () => ({}) as Tokens, maxStreams: 1 });
    const client = new AbortController();
    const pipe: Pipe = { send: () => undefined, closed: client.signal };
    const first = register.piped(session, pipe);
    const { signal } = first.begin(1, false);
    const second = register.piped(session, pipe);
    expect(signal.aborted).toBe(true);
    expect(watching.size).toBe(1);
    expect(register.onPipe(pipe)).toBe(second);
    client.abort();
    expect(watching.size).toBe(0);
    expect(register.onPipe(pipe)).toBeUndefined();
  });
});
