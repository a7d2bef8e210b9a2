import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';
import { createErrand, type Errand } from '../../src/errand.ts';
import type { JsonObject } from '../../src/json.ts';
import { sqlite } from '../../src/stores/sqlite.ts';
import { ANONYMOUS, type Principal } from '../../src/task/principal.ts';
import { frame, headersOf, TASK_CLIENT } from '../fixtures/frames.ts';
import { served, temporaryFolder } from '../fixtures/served.ts';
import { accept, textOf, wireClient } from '../fixtures/wire.ts';

/** The host has authenticated: `x-user` is the subject. Every user comes through the same OAuth client. */
function principal(request: IncomingMessage): Principal {
  const subject = request.headers['x-user'];
  if (typeof subject !== 'string') return ANONYMOUS;
  return { kind: 'user', issuer: 'https://issuer.example', client: 'the-one-app', subject };
}

const as = (user: string) => ({ headers: { 'x-user': user } });

const ANN = JSON.stringify({ kind: 'user', issuer: 'https://issuer.example', subject: 'ann' });

/** Says who called, as it knows it before and after a question. */
function addQuestion(errand: Errand): void {
  errand.tool('question', { task: 'always' }, async (_args, task) => {
    const before = JSON.stringify(task.principal);
    await task.elicit('go', { message: 'Go?', schema: z.object({ ok: z.boolean() }) });
    return `1: ${before}, 2: ${JSON.stringify(task.principal)}`;
  });
}

function addNote(errand: Errand): void {
  errand.tool('note', { task: 'always' }, (_args, task) => `noted for ${JSON.stringify(task.principal)}`);
}

/** So large that to read its task takes longer than all else that a request does. */
const LARGE = 'x'.repeat(3_000_000);

/** An id of the same shape that no task has. */
function otherId(id: string): string {
  return (id.startsWith('x') ? 'y' : 'x') + id.slice(1);
}

/** The body of an answer, byte for byte, with the id of the request fixed and that of the task taken out. */
async function bytes(url: string, user: string | undefined, method: string, taskId: string): Promise<string> {
  const params: JsonObject = method === 'tasks/update' ? { taskId, inputResponses: {} } : { taskId };
  const request = frame('same', method, params, TASK_CLIENT);
  const headers = { ...headersOf(request), ...(user !== undefined && { 'x-user': user }) };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(request) });
  return `${response.status} ${(await response.text()).replaceAll(taskId, 'ID')}`;
}

describe('CASES Isolation', { timeout: 30_000 }, () => {
  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '1, 3, 4: %s answers a foreign id exactly as an unknown one, also between users of one OAuth client and to nobody',
    async (method) => {
      const { url } = await served(addNote, { http: { principal } });
      const owned = await wireClient(url, as('ann')).begin('note');
      const unknown = otherId(owned);
      const foreign = await bytes(url, 'bob', method, owned);
      expect(foreign).toContain('"code":-32602');
      expect(foreign).toBe(await bytes(url, 'bob', method, unknown));
      expect(await bytes(url, undefined, method, owned)).toBe(foreign);
      expect(await bytes(url, 'ann', method, owned)).not.toBe(foreign);
      // What strangers tried changed nothing.
      expect(await wireClient(url, as('ann')).ended(owned)).toMatchObject({ status: 'completed' });
    },
  );

  test('1: a foreign id takes about as long as an unknown one, however large the task', async () => {
    const { url } = await served((errand) => void errand.tool('large', { task: 'always' }, () => LARGE), {
      http: { principal },
    });
    const owned = await wireClient(url, as('ann')).begin('large');
    await wireClient(url, as('ann')).ended(owned);
    const unknown = otherId(owned);
    const times: Record<string, number[]> = { [owned]: [], [unknown]: [] };
    // Turn and turn about, so that a busy machine slows both; the medians differed by a factor of 20 once.
    for (let round = 0; round < 150; round++) {
      for (const taskId of round % 2 === 0 ? [owned, unknown] : [unknown, owned]) {
        const start = performance.now();
        await bytes(url, 'bob', 'tasks/get', taskId);
        times[taskId]!.push(performance.now() - start);
      }
    }
    const median = (taskId: string) => times[taskId]!.sort((a, b) => a - b)[75]!;
    const ratio = median(owned) / median(unknown);
    expect(ratio).toBeGreaterThan(1 / 2);
    expect(ratio).toBeLessThan(2);
  });

  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '1: %s makes of a foreign id as much work as of an unknown one',
    async (method) => {
      const { url } = await served((errand) => void errand.tool('large', { task: 'always' }, () => LARGE), {
        http: { principal },
      });
      const owned = await wireClient(url, as('ann')).begin('large');
      await wireClient(url, as('ann')).ended(owned);
      // The work that grows with a task is to parse it, which can be counted and needs no clock.
      const parsed = async (user: string, taskId: string) => {
        const parse = vi.spyOn(JSON, 'parse');
        await bytes(url, user, method, taskId);
        const lengths = parse.mock.calls.map(([text]) => text.length);
        parse.mockRestore();
        return lengths;
      };
      expect(await parsed('bob', owned)).toEqual(await parsed('bob', otherId(owned)));
      expect(Math.max(...(await parsed('ann', owned)))).toBeGreaterThan(LARGE.length);
    },
  );

  test('2: the same principal reads its task on a new connection and after a restart', async () => {
    const server = await served(addNote, { http: { principal } });
    const taskId = await wireClient(server.url, as('ann')).begin('note');
    const before = await wireClient(server.url, as('ann')).ended(taskId);
    expect(textOf(before)).toContain('"subject":"ann"');
    await server.restart();
    expect(await wireClient(server.url, as('ann')).get(taskId)).toEqual(before);
  });

  test('6: a handler sees who submitted the call, also in a run after a restart', async () => {
    const server = await served(addQuestion, { http: { principal } });
    const ann = wireClient(server.url, as('ann'));
    const taskId = await ann.begin('question');
    await ann.asked(taskId, 'go');
    await server.restart();
    await ann.update(taskId, { go: accept({ ok: true }) });
    expect(textOf(await ann.ended(taskId))).toBe(`1: ${ANN}, 2: ${ANN}`);
  });

  test.each([
    ['a task', { task: 'always' }],
    ['a quick call', { task: 'auto', patience: '5s' }],
  ] as const)('6: a handler of %s that runs in another process sees who submitted it', async (_, options) => {
    const file = path.join(await temporaryFolder(), 'tasks.db');
    const start = async (name: string) => {
      const errand = createErrand({ name, version: '1.0.0', store: sqlite(file) });
      errand.tool('who', options, (_args, task) => `${name}: ${JSON.stringify(task.principal)}`);
      onTestFinished(() => errand.close());
      return (await errand.serve({ port: 0, principal })).url;
    };
    // The first one owns the tasks and runs all handlers; the second takes the call.
    await start('owner');
    const ann = wireClient(await start('front'), as('ann'));
    const called = await ann.call('who');
    const result = called['resultType'] === 'task' ? await ann.ended(called['taskId'] as string) : called;
    expect(textOf(result)).toBe(`owner: ${ANN}`);
  });

  test('5: 100,000 task ids carry at least 122 random bits each, in no order and without a repeat', async () => {
    const store = sqlite(path.join(await temporaryFolder(), 'tasks.db'));
    await store.open();
    const ids = Array.from({ length: 100_000 }, () => store.newId());
    await store.close();

    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => /^[\w-]+$/.test(id))).toBe(true);

    const ascending = ids.filter((id, i) => i > 0 && id > ids[i - 1]!).length / ids.length;
    expect(Math.abs(ascending - 0.5)).toBeLessThan(0.01);

    // The entropy of each letter, added up. Counted over a sample it comes out a little low, by less than 0.01 in all.
    const bits = Array.from({ length: ids[0]!.length }, (_, place) => entropy(ids.map((id) => id[place]!)));
    expect(bits.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(121.99 - 0.01);
  });

  test('5: the ids that clients get are of that kind', async () => {
    const { url } = await served(addNote);
    const client = wireClient(url);
    const ids = await Promise.all(Array.from({ length: 200 }, () => client.begin('note')));
    expect(new Set(ids).size).toBe(ids.length);
    const letters = Array.from({ length: ids[0]!.length }, (_, place) => entropy(ids.map((id) => id[place]!)));
    // 200 ids cannot show 122 bits. They do show that no stretch of them counts or stands still.
    expect(letters.filter((each) => each > 2.5).length).toBeGreaterThanOrEqual(20);
  });
});

/** Shannon entropy in bits of the values seen. */
function entropy(values: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts.values()].reduce(
    (sum, count) => sum - (count / values.length) * Math.log2(count / values.length),
    0,
  );
}
