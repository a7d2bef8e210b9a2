import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/json.ts';
import type { Principal } from '../../src/task/principal.ts';
import { addMarchTools } from '../fixtures/march-tools.ts';
import { openMarch } from '../fixtures/march-wire.ts';
import { served } from '../fixtures/served.ts';
import { openSession } from '../fixtures/session-wire.ts';
import { wireClient } from '../fixtures/wire.ts';
import type { Loose } from '../wire-schemas.ts';

/** What tests do with tasks in any dialect. */
interface Speaker {
  begin(name: string, args?: JsonObject): Promise<string>;
  /** How a read shows the task: its status, and what it came to where the dialect shows that. */
  read(taskId: string): Promise<Loose>;
  /** The status and whole result or error of a task that ends. */
  outcome(taskId: string): Promise<Loose>;
  /** Answers a question of a task once it is asked. */
  answer(taskId: string, key: string, answer: JsonObject): Promise<void>;
  /** Ends the task. Resolves with the status that it has then. */
  cancel(taskId: string): Promise<string>;
  /** The code of the error of a read. */
  refusal(taskId: string): Promise<number | undefined>;
}

type Speak = (url: string, user: string) => Promise<Speaker>;

const ENDED = ['completed', 'failed', 'cancelled'];

async function poll(read: () => Promise<Loose>, fits: (task: Loose) => boolean): Promise<Loose> {
  for (const end = Date.now() + 10_000; ; await new Promise((resolve) => setTimeout(resolve, 25))) {
    const task = await read();
    if (fits(task)) return task;
    if (Date.now() > end) throw new Error(`the task still reads ${JSON.stringify(task)}`);
  }
}

const modern: Speak = async (url, user) => {
  const client = wireClient(url, { headers: { 'x-user': user } });
  return {
    begin: (name, args) => client.begin(name, args),
    read: (taskId) => client.get(taskId),
    async outcome(taskId) {
      const { status, result, error } = (await client.ended(taskId)) as Loose;
      return { status, ...(result && { text: result.content[0].text }), ...(error && { code: error.code }) };
    },
    async answer(taskId, key, answer) {
      await client.asked(taskId, key);
      await client.update(taskId, { [key]: answer });
    },
    async cancel(taskId) {
      await client.cancel(taskId);
      return (await client.get(taskId))['status'] as string;
    },
    refusal: async (taskId) => (await client.send('tasks/get', { taskId })).error?.code,
  };
};

const older: Speak = async (url, user) => {
  const client = await openSession(url, { headers: { 'x-user': user } });
  return {
    begin: async (name, args) => (await client.begin(name, args)).taskId as string,
    read: (taskId) => client.result('tasks/get', { taskId }),
    async outcome(taskId) {
      const { result, error } = await client.request('tasks/result', { taskId });
      const { status } = await client.result('tasks/get', { taskId });
      return { status, ...(result && { text: result.content[0].text }), ...(error && { code: error.code }) };
    },
    async answer(taskId, key, answer) {
      const wait = await client.open('tasks/result', { taskId });
      const question = await wait.next(({ method }) => method === 'elicitation/create');
      expect(question.id.endsWith(`:${key}`)).toBe(true);
      await client.respond(question.id, answer);
    },
    cancel: async (taskId) => (await client.result('tasks/cancel', { taskId })).status as string,
    refusal: async (taskId) => (await client.request('tasks/get', { taskId })).error?.code,
  };
};

function march(parts: JsonObject): Speak {
  return async (url, user) => {
    const client = await openMarch(url, parts, { headers: { 'x-user': user } });
    const go = (taskId: string) => client.result('tasks/continue', { taskId });
    return {
      begin: async (name, args = {}) => (await client.result('tools/call', { name, arguments: args })).task.taskId,
      read: (taskId) => client.result('tasks/get', { taskId }),
      async outcome(taskId) {
        const { status, result, error } = await poll(
          () => go(taskId),
          (task) => ENDED.includes(task.status),
        );
        const said = result ?? error?.data?.['dev.errand/result'];
        return { status, ...(said && { text: said.content[0].text }), ...(error && !said && { code: error.code }) };
      },
      async answer(taskId, key, answer) {
        await poll(
          () => go(taskId),
          (task) => task.inputRequests?.[key] !== undefined,
        );
        await client.result('tasks/continue', { taskId, inputResponses: { [key]: answer } });
      },
      cancel: async (taskId) => (await client.result('tasks/cancel', { taskId })).status as string,
      refusal: async (taskId) => (await client.request('tasks/get', { taskId })).error?.code,
    };
  };
}

const SPEAKERS: [name: string, speak: Speak, toolErrorReads: string][] = [
  ['2026-07-28', modern, 'completed'],
  ['2025-11-25', older, 'failed'],
  ['2026-03', march({}), 'failed'],
];

const http = {
  principal: ({ headers }: { headers: Record<string, unknown> }): Principal => ({
    kind: 'user',
    issuer: 'test',
    subject: String(headers['x-user']),
  }),
};

const pairs = SPEAKERS.flatMap((born) => SPEAKERS.map((reader) => [born[0], reader[0], born, reader] as const));

describe.each(pairs)('a task born in %s, in the eyes of a client of %s', { timeout: 30_000 }, (_, __, born, reader) => {
  async function both() {
    const { url } = await served(addMarchTools, { http });
    return {
      maker: await born[1](url, 'ann'),
      other: await reader[1](url, 'ann'),
      stranger: await reader[1](url, 'bob'),
    };
  }

  it('is there for its principal, and for nobody else (N-9, K-20, L-50)', async () => {
    const { maker, other, stranger } = await both();
    const taskId = await maker.begin('publish', { page: 'home' });
    expect(await other.read(taskId)).toMatchObject({ taskId });
    expect(await stranger.refusal(taskId)).toBe(-32602);
  });

  it('asks and is answered', async () => {
    const { maker, other } = await both();
    const taskId = await maker.begin('publish', { page: 'home' });
    await other.answer(taskId, 'approve', { action: 'accept', content: { go: true } });
    const expected = { status: 'completed', text: 'https://pages.example/home' };
    expect(await other.outcome(taskId)).toEqual(expected);
    expect(await maker.outcome(taskId)).toEqual(expected);
  });

  it('ends when it is cancelled', async () => {
    const { maker, other } = await both();
    const taskId = await maker.begin('endless');
    expect(await other.cancel(taskId)).toBe('cancelled');
    expect(await maker.read(taskId)).toMatchObject({ status: 'cancelled' });
  });

  it('that came to a tool error reads as its own revision has it, with all that the tool said (CASES 11)', async () => {
    const { maker, other } = await both();
    const taskId = await maker.begin('unlucky');
    expect(await other.outcome(taskId)).toEqual({ status: reader[2], text: 'no luck' });
    expect(await maker.outcome(taskId)).toEqual({ status: born[2], text: 'no luck' });
  });

  it('that came to a JSON-RPC error is failed, with that', async () => {
    const { maker, other } = await both();
    const taskId = await maker.begin('broken');
    expect(await other.outcome(taskId)).toEqual({ status: 'failed', code: -31500 });
  });

  it('outlives its client, and is told the same however it is read (CASES 2, 12)', async () => {
    const { maker, other } = await both();
    const taskId = await maker.begin('counting');
    expect(await other.outcome(taskId)).toEqual({ status: 'completed', text: 'three' });
    const [one, two] = [await maker.read(taskId), await other.read(taskId)];
    for (const key of ['taskId', 'status', 'createdAt', 'lastUpdatedAt']) expect(one[key]).toBe(two[key]);
    expect(one.ttl ?? one.ttlMs).toBe(two.ttl ?? two.ttlMs);
  });
});
