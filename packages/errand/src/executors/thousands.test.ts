import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { sqlite } from '../stores/sqlite.ts';
import { begin, makeBed, resultOf, soon } from './suite/bed.suite.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes in use on the heap, once nothing more can be collected. */
async function heap(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return process.memoryUsage().heapUsed;
}

it(
  'thousands of tasks that wait for an answer hold no memory, and an answer wakes one of them',
  { timeout: 60_000 },
  async (t) => {
    const TASKS = 2000;
    const folder = mkdtempSync(join(tmpdir(), 'errand-thousands-'));
    const wipe = (): Promise<void> => rm(folder, { recursive: true, force: true });
    const bed = await makeBed({ store: (clock) => sqlite(join(folder, 'tasks.db'), { clock }), wipe }, t);
    let runs = 0;
    const { client } = await bed.server(
      (errand) =>
        errand.tool('ask', { task: 'always' }, async (_, task) => {
          runs++;
          const held = Buffer.alloc(10_000, 'x').toString(); // what a handler may have at hand
          const { action } = await task.elicit('go', { message: 'Go?', schema: z.object({ go: z.boolean() }) });
          return `${action} ${held.length}`;
        }),
      { concurrency: 200 },
    );
    const waiting = async (ids: readonly string[]): Promise<void> => {
      for (const id of ids) await soon(async () => (await bed.disk.read(id))!.wakeAt === undefined);
    };
    const make = (count: number): Promise<string[]> =>
      Promise.all(Array.from({ length: count }, () => begin(client, 'ask')));

    await waiting(await make(200)); // what is made once is made by now
    const before = await heap();
    const ids: string[] = [];
    while (ids.length < TASKS) ids.push(...(await make(500)));
    await waiting(ids);
    // A run in memory would hold its 10,000 characters, and more than that around them.
    const bytesEach = ((await heap()) - before) / TASKS;
    expect(bytesEach).toBeLessThan(4000);

    expect(runs).toBe(TASKS + 200);
    await client.answer(ids[1234]!, { go: { action: 'decline' } });
    expect(await resultOf(client, ids[1234]!)).toBe('decline 10000');
    expect(runs).toBe(TASKS + 201);
  },
);
