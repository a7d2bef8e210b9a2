import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { taskOf } from '../../test/scripted-engine.ts';
import type { OnTask } from '../engine/engine.ts';
import type { JsonRpcMessage } from '../jsonrpc.ts';
import type { Inbound, Reply } from './exchange.ts';
import { answerHeld, type Answer } from './held.ts';
import { heldProgress } from './held/progress.ts';

const DONE: Answer = { kind: 'response', status: 200, body: { jsonrpc: '2.0', id: 1, result: {} } };
const BOTH = 'application/json, text/event-stream';

/** A call under way, by a client with this `Accept` header, or without headers as on stdio. */
function held(accept: string | null, options: { readonly asksForProgress?: boolean } = {}) {
  let finish!: (answer: Answer) => void;
  let tell: OnTask | undefined;
  const inbound: Inbound = {
    message: {},
    principal: { kind: 'local' },
    signal: new AbortController().signal,
    ...(accept !== null && { header: (name) => (name === 'accept' ? accept : undefined) }),
  };
  const progress =
    options.asksForProgress &&
    heldProgress('p', (progressToken, report) => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken, ...report },
    }));
  const reply = answerHeld(inbound, progress || undefined, (onTask) => {
    tell = onTask;
    return new Promise((resolve) => (finish = resolve));
  });
  return {
    reply,
    finish: () => finish(DONE),
    tell: (statusMessage: string) => tell?.(taskOf('t', { statusMessage })),
    tells: () => tell !== undefined,
  };
}

async function messagesOf(reply: Reply): Promise<JsonRpcMessage[]> {
  if (reply.kind !== 'stream') throw new Error(`no stream: ${JSON.stringify(reply)}`);
  const messages: JsonRpcMessage[] = [];
  for await (const message of reply.messages) messages.push(message);
  return messages;
}

const said = (message: string) =>
  expect.objectContaining({ params: expect.objectContaining({ progressToken: 'p', message }) });

describe.concurrent('a held call over HTTP', () => {
  it('that is quick is answered with plain JSON, whatever it had to tell', async () => {
    const call = held(BOTH, { asksForProgress: true });
    call.tell('begun');
    setTimeout(call.finish, 50);
    expect(await call.reply).toEqual(DONE);
  });

  it('that takes a second is answered with a stream, of its progress and then of its response', async () => {
    const call = held(BOTH, { asksForProgress: true });
    call.tell('begun');
    const began = performance.now();
    const reply = await call.reply;
    expect(performance.now() - began).toBeGreaterThan(900);
    const messages = messagesOf(reply);
    await delay(10);
    call.tell('halfway');
    await delay(10);
    call.tell('nearly');
    call.finish();
    expect(await messages).toEqual([
      said('begun'),
      said('halfway'),
      said('nearly'),
      DONE.kind === 'response' && DONE.body,
    ]);
  });

  it('tells nothing after its response', async () => {
    const call = held(BOTH, { asksForProgress: true });
    const messages = messagesOf(await call.reply);
    call.finish();
    const all = await messages;
    call.tell('too late');
    expect(all).toHaveLength(1);
  });

  it('is a stream also where nobody asked for progress, so that the connection is not given up', async () => {
    const call = held(BOTH);
    expect(call.tells()).toBe(false);
    const messages = messagesOf(await call.reply);
    call.finish();
    expect(await messages).toHaveLength(1);
  });

  it.each(['application/json', '*/*', 'application/json, text/event-stream;q=0', 'text/event-streams'])(
    'waits for its response where the client does not name streams: %s',
    async (accept) => {
      const call = held(accept, { asksForProgress: true });
      setTimeout(call.finish, 1100);
      expect(await call.reply).toEqual(DONE);
    },
  );

  it.each(['text/event-stream', 'application/json;q=0.5,TEXT/EVENT-STREAM ; q=0.9'])(
    'may be a stream by %s',
    async (accept) => {
      const call = held(accept);
      expect((await call.reply).kind).toBe('stream');
      call.finish();
    },
  );

  it('that was taken back ends without a word', async () => {
    const inbound: Inbound = {
      message: {},
      principal: { kind: 'local' },
      signal: new AbortController().signal,
      header: () => BOTH,
    };
    const reply = await answerHeld(inbound, undefined, async () => {
      await delay(1050);
      return { kind: 'accepted' };
    });
    expect(await messagesOf(reply)).toEqual([]);
  });
});

describe('a held call over stdio', () => {
  it('has its progress told at once', async () => {
    const call = held(null, { asksForProgress: true });
    const reply = await call.reply;
    if (reply.kind !== 'stream') throw new Error('no stream');
    const messages = reply.messages[Symbol.asyncIterator]();
    call.tell('begun');
    expect(await messages.next()).toEqual({ done: false, value: said('begun') });
    call.finish();
    expect(await messages.next()).toMatchObject({ value: { result: {} } });
    expect(await messages.next()).toMatchObject({ done: true });
  });

  it('is one response where nobody asked for progress', async () => {
    const call = held(null);
    call.finish();
    expect(await call.reply).toEqual(DONE);
  });
});
