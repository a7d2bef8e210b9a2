import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { frame, TASK_CLIENT } from '../../test/fixtures/frames.ts';
import { scriptedEngine, type MadeCall } from '../../test/scripted-engine.ts';
import { assertValidFrame } from '../../test/wire-schemas.ts';
import type { Loose } from '../../test/wire-schemas.ts';
import type { CallAnswer } from '../engine/engine.ts';
import type { JsonObject } from '../json.ts';
import { createFront } from './front.ts';
import { serveStdio } from './stdio.ts';
import { MAX_LINE_BYTES } from './stdio/lines.ts';

async function setUp(answer?: (call: MadeCall) => CallAnswer | Promise<CallAnswer>) {
  const engine = scriptedEngine([{ name: 'work', inputSchema: { type: 'object' } }], answer);
  const front = createFront({ engine, info: { name: 'ours', version: '1' }, log: pino({ level: 'silent' }) });
  const input = new PassThrough();
  const output = new PassThrough();
  let written = '';
  output.on('data', (chunk) => (written += String(chunk)));
  const stdio = await serveStdio(front, { input, output });
  const methods = new Map<unknown, string>();
  /** Every message so far; each line of the output is one, and valid. */
  const messages = (): Loose[] => {
    const lines = written.split('\n');
    expect(lines.pop()).toBe('');
    return lines.map((line) => {
      const message: Loose = JSON.parse(line);
      assertValidFrame(message, { method: methods.get(message.id) ?? '' });
      return message;
    });
  };
  return {
    engine,
    front,
    input,
    output,
    stdio,
    messages,
    request(id: string | number, method: string, params: JsonObject = {}) {
      methods.set(id, method);
      input.write(`${JSON.stringify(frame(id, method, params, TASK_CLIENT))}\n`);
    },
    cancel: (requestId: unknown) =>
      input.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })}\n`),
    until: (count: number) => vi.waitFor(() => expect(messages()).toHaveLength(count)),
  };
}

const later = () => wait(20);

describe('a line', () => {
  it('is one message, and so is each answer', async () => {
    const { request, messages, until, engine } = await setUp();
    engine.commit('t');
    request(1, 'tools/list');
    request('two', 'tasks/get', { taskId: 't' });
    await until(2);
    expect(messages()).toContainEqual(
      expect.objectContaining({ id: 1, result: expect.objectContaining({ tools: [expect.anything()] }) }),
    );
    expect(messages()).toContainEqual(
      expect.objectContaining({ id: 'two', result: expect.objectContaining({ taskId: 't' }) }),
    );
  });

  it('may end in \\r\\n, be empty, come with others or in pieces that cut characters in two', async () => {
    const { input, messages, until, engine } = await setUp();
    const call = (id: number, text: string) =>
      JSON.stringify(frame(id, 'tools/call', { name: 'work', arguments: { text } }, {}));
    const bytes = Buffer.from(`${call(1, '本')}\r\n\r\n  \n${call(2, '本')}\n${call(3, '本')}\n`);
    for (const byte of bytes) input.write(Buffer.of(byte));
    await until(3);
    input.write(`${call(4, '本')}\n${call(5, '本')}\n`);
    await until(5);
    expect(messages().map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
    expect(engine.calls.every((call) => call.arguments.text === '本')).toBe(true);
  });

  it('that is no JSON or no UTF-8 is answered with -32700, and the next one as ever', async () => {
    const { input, request, messages, until } = await setUp();
    input.write('hello\n{"jsonrpc":\n');
    input.write(Buffer.from('7b2261223a22c328227d0a', 'hex'));
    request(1, 'tools/list');
    await until(4);
    const parse = { jsonrpc: '2.0', error: { code: -32700, message: expect.any(String) } };
    expect(messages().slice(0, 3)).toEqual([parse, parse, parse]);
    expect(messages()[3]).toMatchObject({ id: 1, result: {} });
  });

  it('that is a batch, or of a broken shape, is answered with -32600, under its id where it has one', async () => {
    const { input, messages, until } = await setUp();
    input.write('[]\n{"jsonrpc":"2.0","id":7}\n{"id":8,"method":"tools/list"}\n');
    await until(3);
    expect(messages().map(({ id, error }) => [id, error.code])).toEqual([
      [undefined, -32600],
      [undefined, -32600],
      [8, -32600],
    ]);
  });

  it('longer than 10 MB is thrown away, and the next one read', async () => {
    const { input, request, messages, until } = await setUp();
    const chunk = 'x'.repeat(1024 * 1024);
    for (let size = 0; size <= MAX_LINE_BYTES; size += chunk.length) input.write(chunk);
    input.write('\n');
    request(1, 'tools/list');
    await until(2);
    expect(messages()).toMatchObject([{ error: { code: -31001 } }, { id: 1, result: {} }]);
  });
});

describe('the client', () => {
  it('is the local principal, asks many things at once, and needs no headers', async () => {
    const answers: ((answer: CallAnswer) => void)[] = [];
    const { request, messages, until, engine } = await setUp(() => new Promise((resolve) => answers.push(resolve)));
    for (let id = 1; id <= 3; id += 1) request(id, 'tools/call', { name: 'work' });
    await vi.waitFor(() => expect(engine.calls).toHaveLength(3));
    expect(engine.calls[0]!.principal).toEqual({ kind: 'local' });
    for (const answer of answers.reverse()) {
      answer({ kind: 'result', result: { content: [] } });
      await turn();
    }
    await until(3);
    expect(messages().map(({ id }) => id)).toEqual([3, 2, 1]);
  });

  it('that uses an id twice at once is told so, and the first request goes on', async () => {
    const { request, messages, until, engine } = await setUp(() =>
      later().then(() => ({ kind: 'result', result: { content: [] } })),
    );
    request(1, 'tools/call', { name: 'work' });
    request(1, 'tools/call', { name: 'work' });
    request('1', 'tools/call', { name: 'work' });
    await until(3);
    expect(engine.calls).toHaveLength(2);
    expect(messages().map(({ id, error }) => [id, error?.code])).toEqual([
      [1, -32600],
      [1, undefined],
      ['1', undefined],
    ]);
    request(1, 'tools/call', { name: 'work' });
    await until(4);
    expect(engine.calls).toHaveLength(3);
  });
});

describe('notifications/cancelled', () => {
  it('takes a call back, which is then not answered', async () => {
    const { request, cancel, messages, engine } = await setUp(
      ({ signal }) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve({ kind: 'result', result: { content: [] } })),
        ),
    );
    request(1, 'tools/call', { name: 'work' });
    await vi.waitFor(() => expect(engine.calls).toHaveLength(1));
    cancel('1');
    await later();
    expect(engine.calls[0]!.signal.aborted).toBe(false);
    cancel(1);
    await later();
    expect(engine.calls[0]!.signal.aborted).toBe(true);
    expect(messages()).toEqual([]);
  });

  it('ends a subscription, after which nothing comes, and cancels no task (CASES 22)', async () => {
    const { request, cancel, messages, until, engine } = await setUp();
    engine.commit('t');
    request('sub', 'subscriptions/listen', { notifications: { taskIds: ['t'] } });
    await until(2);
    cancel('sub');
    await vi.waitFor(() => expect(engine.watching()).toBe(0));
    expect(engine.commit('t', { statusMessage: 'later' }).status).toBe('working');
    await later();
    expect(messages()).toHaveLength(2);
  });

  it('of nothing that is under way, or of nothing at all, does nothing', async () => {
    const { request, cancel, input, until, engine } = await setUp();
    engine.commit('t');
    cancel(99);
    input.write('{"jsonrpc":"2.0","method":"notifications/cancelled"}\n');
    request(1, 'tasks/get', { taskId: 't' });
    await until(1);
    cancel(1);
    request(2, 'tasks/get', { taskId: 't' });
    await until(2);
  });

  it('under an id is a request, and answered', async () => {
    const { request, messages, until } = await setUp();
    request(1, 'notifications/cancelled', { requestId: 1 });
    await until(1);
    expect(messages()).toMatchObject([{ id: 1, error: { code: -32601 } }]);
  });
});

describe('the end', () => {
  it('of stdin takes back what is under way, and is told at once', async () => {
    const { request, input, stdio, messages, engine } = await setUp(() => new Promise(() => {}));
    engine.commit('t');
    request(1, 'tools/call', { name: 'work' });
    request(2, 'subscriptions/listen', { notifications: { taskIds: ['t'] } });
    await vi.waitFor(() => expect(messages()).toHaveLength(2));
    input.end();
    await stdio.closed;
    expect(engine.calls[0]!.signal.aborted).toBe(true);
    await vi.waitFor(() => expect(engine.watching()).toBe(0));
    expect(messages()).toHaveLength(2);
  });

  it('by close leaves stdin alone', async () => {
    const { request, input, stdio, messages } = await setUp();
    await stdio.close();
    await stdio.closed;
    request(1, 'tools/list');
    await later();
    expect(messages()).toEqual([]);
    expect(input.isPaused()).toBe(true);
  });

  it('by close lets what is under way end, and subscriptions in good order once the front drains', async () => {
    const answer: ((answer: CallAnswer) => void)[] = [];
    const { request, stdio, front, messages, until, engine } = await setUp(
      () => new Promise((done) => answer.push(done)),
    );
    engine.commit('t');
    request('call', 'tools/call', { name: 'work' });
    request('sub', 'subscriptions/listen', { notifications: { taskIds: ['t'] } });
    await until(2);
    front.drain();
    const closed = stdio.close();
    await until(3);
    answer[0]!({ kind: 'result', result: { content: [] } });
    await closed;
    expect(messages().slice(2)).toMatchObject([
      { id: 'sub', result: { resultType: 'complete' } },
      { id: 'call', result: { content: [] } },
    ]);
  });

  it('by close takes back after 9 s what does not end, and says so', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { request, cancel, stdio, engine, messages } = await setUp(async ({ arguments: { as }, signal }) => {
      if (as !== 'heeds') return new Promise(() => {});
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    });
    for (const as of ['heeds', 'heeds not', 'taken back'])
      request(as, 'tools/call', { name: 'work', arguments: { as } });
    await turn();
    cancel('taken back');
    await turn();
    const closed = stdio.close();
    vi.advanceTimersByTime(8_999);
    expect(engine.calls[0]!.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(engine.calls[0]!.signal.aborted).toBe(true);
    await turn();
    const refusal = { error: { code: -31003 } };
    expect(messages()).toMatchObject([{ id: 'heeds', ...refusal }]);
    vi.advanceTimersByTime(500);
    await closed;
    expect(messages().slice(1)).toMatchObject([{ id: 'heeds not', ...refusal }]);
  });

  it('of stdout is the end, and no crash', async () => {
    const { request, output, stdio } = await setUp();
    output.destroy(new Error('EPIPE'));
    request(1, 'tools/list');
    await stdio.closed;
  });
});

describe('a client that does not read', () => {
  it('holds a stream back, and costs no more than the latest states', async () => {
    const engine = scriptedEngine([]);
    const front = createFront({ engine, info: { name: 'ours', version: '1' }, log: pino({ level: 'silent' }) });
    engine.commit('t');
    const input = new PassThrough();
    const lines: string[] = [];
    let read = () => {};
    const output = new Writable({
      highWaterMark: 1,
      write(chunk, _, done) {
        lines.push(String(chunk));
        read = done;
      },
    });
    const stdio = await serveStdio(front, { input, output });
    input.write(
      `${JSON.stringify(frame(1, 'subscriptions/listen', { notifications: { taskIds: ['t'] } }, TASK_CLIENT))}\n`,
    );
    await vi.waitFor(() => expect(lines).toHaveLength(1));
    for (let n = 0; n < 1000; n += 1) {
      engine.commit('t', { statusMessage: `${n}` });
      if (n % 100 === 0) await turn();
    }
    engine.commit('t', { status: 'cancelled' });
    for (let n = 0; n < 4; n += 1) {
      read();
      await later();
    }
    expect(lines.map((line) => JSON.parse(line).params?.status)).toEqual([undefined, 'cancelled', undefined]);
    await stdio.close();
  });

  it('is asked nothing more of than it left unread: its requests wait in its own pipe', async () => {
    const engine = scriptedEngine([{ name: 'work', inputSchema: { type: 'object' } }], () => ({
      kind: 'result',
      result: { content: [{ type: 'text', text: 'x'.repeat(100_000) }] },
    }));
    const front = createFront({ engine, info: { name: 'ours', version: '1' }, log: pino({ level: 'silent' }) });
    const input = new PassThrough({ highWaterMark: 1 });
    const output = new PassThrough({ highWaterMark: 1 });
    const stdio = await serveStdio(front, { input, output });
    const asking = (async () => {
      for (let id = 1; id <= 1000; id++) {
        const line = `${JSON.stringify(frame(id, 'tools/call', { name: 'work' }, TASK_CLIENT))}\n`;
        if (!input.write(line)) await once(input, 'drain');
        await turn();
      }
    })();
    await wait(500);
    expect(engine.calls.length).toBeGreaterThan(50);
    expect(output.writableLength).toBeLessThan(10 * 1024 ** 2);
    expect(engine.calls.length).toBeLessThan(200);
    let answers = 0;
    output.on('data', (chunk: Buffer) => (answers += String(chunk).split('\n').length - 1));
    await asking;
    await vi.waitFor(() => expect(answers).toBe(1000), { timeout: 20_000 });
    await stdio.close();
  });
});
