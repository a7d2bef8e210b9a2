import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Errand } from '../../src/errand.ts';
import type { JsonObject } from '../../src/json.ts';
import { sqlite } from '../../src/stores/sqlite.ts';
import { ANONYMOUS, type Principal } from '../../src/task/principal.ts';
import { frame, headersOf, TASK_CLIENT } from '../fixtures/frames.ts';
import { served, temporaryFolder } from '../fixtures/served.ts';
import { textOf, wireClient } from '../fixtures/wire.ts';

/** The host has authenticated: `x-user` is the subject. Every user comes through the same OAuth client. */
function principal(request: IncomingMessage): Principal {
  const subject = request.headers['x-user'];
  if (typeof subject !== 'string') return ANONYMOUS;
  return { kind: 'user', issuer: 'https://issuer.example', client: 'the-one-app', subject };
}

const as = (user: string) => ({ headers: { 'x-user': user } });

function addNote(errand: Errand): void {
  errand.tool('note', { task: 'always' }, (_args, task) => `noted for ${JSON.stringify(task.principal)}`);
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
      // As long as an id that exists, and of the same letters.
      const unknown = [...owned].reverse().join('');
      const foreign = await bytes(url, 'bob', method, owned);
      expect(foreign).toContain('"code":-32602');
      expect(foreign).toBe(await bytes(url, 'bob', method, unknown));
      expect(await bytes(url, undefined, method, owned)).toBe(foreign);
      expect(await bytes(url, 'ann', method, owned)).not.toBe(foreign);
      // What strangers tried changed nothing.
      expect(await wireClient(url, as('ann')).ended(owned)).toMatchObject({ status: 'completed' });
    },
  );

  test('1: a foreign id takes about as long as an unknown one', async () => {
    const { url } = await served(addNote, { http: { principal } });
    const owned = await wireClient(url, as('ann')).begin('note');
    const unknown = [...owned].reverse().join('');
    const times: Record<string, number[]> = { [owned]: [], [unknown]: [] };
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

  test('2: the same principal reads its task on a new connection and after a restart', async () => {
    const server = await served(addNote, { http: { principal } });
    const taskId = await wireClient(server.url, as('ann')).begin('note');
    const before = await wireClient(server.url, as('ann')).ended(taskId);
    expect(textOf(before)).toContain('"subject":"ann"');
    await server.restart();
    expect(await wireClient(server.url, as('ann')).get(taskId)).toEqual(before);
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
