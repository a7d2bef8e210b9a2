import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createErrand, type Errand, type ErrandOptions } from './errand.ts';
import { RpcError } from './errors.ts';
import type { Handler } from './engine/tool.ts';
import type { JsonObject } from './json.ts';
import { limitsOf, type Limits } from './limits.ts';
import { sqlite } from './stores/sqlite.ts';
import { testClient } from './testing.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

function serverWith(limits: Partial<Limits>, options: Partial<ErrandOptions> = {}) {
  const errand = createErrand({ name: 'limits', version: '1', limits, log: pino({ level: 'silent' }), ...options });
  closers.push(() => errand.close());
  errand.tool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => text);
  errand.tool('repeat', { task: 'always', inputSchema: z.object({ times: z.number() }) }, async ({ times }, task) => {
    for (let i = 0; i < times; i++) await task.step('one', () => i);
    return 'done';
  });
  errand.tool('big', { task: 'always', inputSchema: z.object({ bytes: z.number() }) }, async ({ bytes }, task) => {
    return task.step('grow', () => 'x'.repeat(bytes));
  });
  errand.tool('grow', { inputSchema: z.object({ bytes: z.number() }) }, ({ bytes }) => 'x'.repeat(bytes));
  errand.tool('ask', { task: 'always' }, async (_args, task) => {
    const answer = await task.elicit('name', { message: 'Name?', schema: z.object({ name: z.string() }) });
    return answer.content?.name ?? 'none';
  });
  return { errand, client: testClient(errand) };
}

describe('a limit', () => {
  it('that is unknown, or no number of 1 or more, is refused by name', () => {
    expect(() => limitsOf({ steps: 3 } as Partial<Limits>)).toThrow('limits.steps is unknown; there are argumentBytes');
    expect(() => limitsOf({ liveTasks: 0 })).toThrow('limits.liveTasks is a number of 1 or more');
    expect(() => limitsOf({ liveTasks: Number.NaN })).toThrow(TypeError);
    expect(limitsOf({ liveTasks: Infinity }).liveTasks).toBe(Infinity);
  });

  it('on arguments refuses the call before anything is begun', async () => {
    const { client } = serverWith({ argumentBytes: 100 });
    await expect(client.call('echo', { text: 'x'.repeat(100) })).rejects.toMatchObject({ code: -31001 });
    await expect(client.call('echo', { text: 'x'.repeat(50) })).resolves.toMatchObject({
      content: [{ text: 'x'.repeat(50) }],
    });
  });

  it('on results fails the call, and says by how much it is over', async () => {
    const { client } = serverWith({ resultBytes: 200 });
    await expect(client.call('grow', { bytes: 100 })).resolves.toMatchObject({ resultType: 'complete' });
    await expect(client.call('grow', { bytes: 200 })).rejects.toMatchObject({
      code: -31001,
      message: expect.stringMatching(/the result of tool "grow" takes \d+ bytes; at most 200/) as string,
    });
  });

  it('on steps fails a step whose value the journal would not keep', async () => {
    const { client } = serverWith({ stepBytes: 1000 });
    const { taskId } = await client.call('big', { bytes: 2000 });
    const task = await client.until(taskId as string, ['completed', 'failed']);
    expect(JSON.stringify(task)).toContain('what step \\"grow\\" returned takes 2002 bytes; at most 1000 are kept');
  });

  it('on the number of steps ends the task', async () => {
    const { client } = serverWith({ stepsPerTask: 5 });
    await expect(client.run('repeat', { times: 5 })).resolves.toMatchObject({ content: [{ text: 'done' }] });
    const { taskId } = await client.call('repeat', { times: 6 });
    const task = await client.until(taskId as string, 'failed');
    expect(task['error']).toMatchObject({ code: -31008, message: expect.stringContaining('5 steps') as string });
  });

  it('on answers refuses one that is larger, and leaves the question open', async () => {
    const { client } = serverWith({ answerBytes: 100 });
    const taskId = (await client.call('ask'))['taskId'] as string;
    await client.until(taskId, 'input_required');
    const large = { name: { action: 'accept', content: { name: 'x'.repeat(100) } } };
    await expect(client.answer(taskId, large)).rejects.toMatchObject({ code: -31001 });
    await expect(client.read(taskId)).resolves.toMatchObject({ status: 'input_required' });
    await client.answer(taskId, { name: { action: 'accept', content: { name: 'Ann' } } });
    await client.until(taskId, 'completed');
  });
});

describe('what a handler says', () => {
  /** How a call of a tool ends that does `work`. */
  async function endOf(work: Handler<JsonObject>, limits: Partial<Limits> = {}) {
    const { errand, client } = serverWith({ stepBytes: 1000, ...limits });
    errand.tool('work', { task: 'always' }, work);
    const taskId = await client.begin('work');
    return client.until(taskId, ['completed', 'failed']);
  }

  it('in a text of its status is cut where it is too long for people', async () => {
    const task = await endOf((_, task) => {
      task.status('x'.repeat(1_000_000));
      return 'done';
    });
    expect(task['statusMessage']).toBe(`${'x'.repeat(10_000)}…`);
  });

  it('in an error is cut, and large data is left out, with how large it was', async () => {
    const data = { text: 'x'.repeat(100_000) };
    const failed = await endOf(() => {
      throw new RpcError(4242, 'x'.repeat(1_000_000), data);
    });
    const why = 'the data of an error takes 100011 bytes; at most 65536 are kept';
    expect(failed['error']).toEqual({ code: 4242, message: `${'x'.repeat(10_000)}…`, data: why });
    const seen: unknown[] = [];
    await endOf(async (_, task) => {
      const large = Object.assign(new Error('x'), { data, code: 'c'.repeat(1_000_000), name: 'n'.repeat(1_000_000) });
      await task.step('fail', () => Promise.reject(large)).catch((error: unknown) => seen.push(error));
      return 'done';
    });
    expect(seen).toMatchObject([
      {
        data: 'the data of the error that step "fail" threw takes 100011 bytes; at most 65536 are kept',
        code: `${'c'.repeat(200)}…`,
        name: `${'n'.repeat(200)}…`,
      },
    ]);
  });

  it('in a question is refused where the journal would not keep as much of a step', async () => {
    const task = await endOf(async (_, task) => {
      const schema = z.object({ name: z.string() });
      const failures = await Promise.all([
        task.elicit('form', { message: 'x'.repeat(2000), schema }).catch(String),
        task.sample('model', { messages: [], maxTokens: 1, systemPrompt: 'x'.repeat(2000) }).catch(String),
      ]);
      return failures.map(String).join('\n');
    });
    const texts = JSON.stringify(task['result']);
    for (const key of ['form', 'model'])
      expect(texts).toMatch(new RegExp(`question .{1,3}${key}.{1,3} takes 2\\d\\d\\d bytes; at most 1000 are kept`));
  });

  it('is refused where it nests too deeply, which names the limit', async () => {
    let deep: object = {};
    for (let level = 0; level < 100_000; level++) deep = [deep];
    const step = await endOf((_, task) => task.step('dig', () => deep as never).catch(String));
    expect(JSON.stringify(step['result'])).toContain('step \\"dig\\" nests more than 200 deep');
    const result = await endOf(() => ({ content: [], structuredContent: { deep } }));
    expect(JSON.stringify(result)).toContain('the result of tool \\"work\\" nests more than 200 deep');
    let fits: unknown = 1;
    for (let level = 0; level < 200; level++) fits = [fits];
    expect(await endOf((_, task) => task.step('dig', () => fits).then(() => 'done'))).toMatchObject({
      result: { content: [{ text: 'done' }] },
    });
  });
});

describe('a principal over its cap of live tasks (CASES 9)', () => {
  it('is refused with a clear error, nothing half-created stays, and room comes back as tasks end', async () => {
    const { client } = serverWith({ liveTasks: 3 });
    const ids = await Promise.all([1, 2, 3].map(async () => (await client.call('ask'))['taskId'] as string));
    const refusals = await Promise.allSettled([1, 2, 3].map(() => client.call('ask')));
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ reason: { code: -31007, data: { limit: 3, retryAfterMs: 1000 } } });
    }
    await client.cancel(ids[0]!);
    await expect(client.call('ask')).resolves.toMatchObject({ resultType: 'task' });
    await expect(client.call('ask')).rejects.toMatchObject({ code: -31007 });
  });

  it('lets no more in when calls come all at once', async () => {
    const { client } = serverWith({ liveTasks: 3 });
    const answers = await Promise.allSettled(Array.from({ length: 10 }, () => client.call('ask')));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  });

  it('does not count calls that were answered at once', async () => {
    const { client } = serverWith({ liveTasks: 2 });
    for (let i = 0; i < 10; i++) await client.call('echo', { text: 'hi' });
    await expect(client.call('ask')).resolves.toMatchObject({ resultType: 'task' });
  });

  it('takes nothing from others', async () => {
    const { errand, client } = serverWith({ liveTasks: 1 });
    await client.call('ask');
    const other = testClient(errand, { principal: { kind: 'user', issuer: 'https://id.example', subject: 'ann' } });
    await expect(other.call('ask')).resolves.toMatchObject({ resultType: 'task' });
  });
});

describe('a process that does not run the tasks', () => {
  it('counts those of its calls once, while they are held, too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'errand-limits-'));
    closers.push(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, 'tasks.db');
    const define = (errand: Errand) => errand.tool('rest', {}, (_, task) => task.sleep(400).then(() => 'rested'));
    const servers = [1, 2].map(() => {
      const { errand } = serverWith({ liveTasks: 4 }, { store: sqlite(file) });
      define(errand);
      return errand;
    });
    for (const errand of servers) await errand.start();
    const front = servers[1]!;
    const client = testClient(front);
    for (let made = 0; made < 2; made++) await client.run('repeat', { times: 1 });
    const plain = testClient(front, { tasks: false });
    const held = [plain.call('rest'), plain.call('rest')];
    await new Promise((resolve) => setTimeout(resolve, 100));
    const more = [client.call('ask'), client.call('ask')];
    await expect(Promise.all(more)).resolves.toHaveLength(2);
    await expect(client.call('ask')).rejects.toMatchObject({ code: -31007 });
    await Promise.all(held);
  });
});

describe('runs that wait for a slot', () => {
  it('are so many at most; further calls are told to come back', async () => {
    const { errand, client } = serverWith({ queuedRuns: 1 }, { concurrency: 1 });
    let release!: () => void;
    const gate = new Promise<void>((resolve) => (release = resolve));
    errand.tool('busy', { task: 'always' }, async (_args, task) => {
      await task.step('wait', () => gate);
      return 'done';
    });
    const first = (await client.call('busy'))['taskId'] as string;
    const second = (await client.call('busy'))['taskId'] as string;
    await expect.poll(() => client.call('busy').catch((error: unknown) => error)).toMatchObject({ code: -31002 });
    release();
    await client.until(first, 'completed');
    await client.until(second, 'completed');
  });
});

describe('calls that come all at once', () => {
  const ALWAYS = { task: 'always' } as const;
  const KINDS = ['replayed', 'unreplayed', 'auto', 'held', 'idempotent'] as const;

  /** A server whose runs end when it is told, and what becomes of many calls of one kind. */
  async function flood(kind: (typeof KINDS)[number], concurrency: number, calls: number) {
    const { errand, client } = serverWith({ queuedRuns: 5 }, { concurrency });
    let release!: () => void;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const work = async (_: unknown, task: { step(name: string, fn: () => unknown): Promise<unknown> }) => {
      await task.step('wait', () => gate);
      return 'done';
    };
    errand.tool('replayed', ALWAYS, work);
    errand.tool('unreplayed', { ...ALWAYS, replay: false }, () => gate.then(() => 'done'));
    errand.tool('auto', { task: 'auto', patience: '1h' }, work);
    const caller = kind === 'held' ? testClient(errand, { tasks: false }) : client;
    const tool = kind === 'held' ? 'auto' : kind === 'idempotent' ? 'replayed' : kind;
    const made = Array.from({ length: calls }, (_, n) =>
      caller.call(
        tool,
        {},
        kind === 'idempotent' ? { _meta: { 'dev.errand/idempotencyKey': `${n}`.padEnd(32, '-') } } : {},
      ),
    );
    const settled = Promise.allSettled(made);
    await new Promise((resolve) => setTimeout(resolve, 300));
    release();
    const answers = await settled;
    await errand.close();
    return answers.filter(({ status }) => status === 'fulfilled').length;
  }

  it.each(KINDS)('(%s) queue no more than may', async (kind) => {
    expect(await flood(kind, 1, 60)).toBe(6);
  });

  it.each(KINDS)('(%s) are all let in where there are slots for all', async (kind) => {
    expect(await flood(kind, 60, 60)).toBe(60);
  });
});

describe('polls that come too soon (CASES 28)', () => {
  it('are answered later, and truly', async () => {
    const { client } = serverWith({ pollsPerSecond: 20 });
    const taskId = (await client.call('ask'))['taskId'] as string;
    const startedAt = performance.now();
    const reads = await Promise.all(Array.from({ length: 50 }, () => client.read(taskId)));
    // 40 at once, the other 10 at 20 a second.
    expect(performance.now() - startedAt).toBeGreaterThan(400);
    for (const read of reads) expect(read).toMatchObject({ taskId, resultType: 'complete' });
  });

  it('are refused, with the wait, only where they would be held for long', async () => {
    const { client } = serverWith({ pollsPerSecond: 1 });
    const taskId = (await client.call('ask'))['taskId'] as string;
    const refused: { code: number; data: { retryAfterMs: number } }[] = [];
    for (let i = 0; i < 10; i++) {
      client.read(taskId).catch((error: unknown) => refused.push(error as (typeof refused)[number]));
    }
    await expect.poll(() => refused.length).toBeGreaterThan(0);
    for (const { code, data } of refused) {
      expect(code).toBe(-31002);
      expect(data.retryAfterMs).toBeGreaterThan(5000);
    }
  });
});
