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
  'thousands of tasks that wait for an answer, past a step, hold no memory, and an answer wakes one of them',
  { timeout: 180_000 },
  async (t) => {
    const TASKS = 20_000;
    // What the stores keep of so many tasks they have read is there before anything is counted.
    const WARM_UP = 1200;
    const folder = mkdtempSync(join(tmpdir(), 'errand-thousands-'));
    const wipe = (): Promise<void> => rm(folder, { recursive: true, force: true });
    const bed = await makeBed({ store: (clock) => sqlite(join(folder, 'tasks.db'), { clock }), wipe }, t);
    let runs = 0;
    let effects = 0;
    const { client } = await bed.server(
      (errand) =>
        errand.tool('ask', { task: 'always' }, async ({ n }, task) => {
          runs++;
          const held = Buffer.alloc(10_000, 'x').toString(); // what a handler may have at hand
          const found = await task.step('look', () => {
            effects++;
            return Number(n) * 2;
          });
          const { action } = await task.elicit('go', { message: 'Go?', schema: z.object({ go: z.boolean() }) });
          return `${action} ${held.length} ${found}`;
        }),
      { concurrency: 1000, limits: { liveTasks: Infinity } },
    );
    const make = async (count: number): Promise<string[]> => {
      const ids: string[] = [];
      while (ids.length < count) {
        const from = ids.length;
        const batch = Array.from({ length: 200 }, (_, index) => begin(client, 'ask', { n: from + index }));
        ids.push(...(await Promise.all(batch)));
      }
      await soon(async () => (await bed.disk.due(-Infinity, bed.disk.now())).length === 0); // all are parked
      return ids;
    };

    await make(WARM_UP);
    const before = await heap();
    const ids = await make(TASKS);
    // A run in memory would hold its 10,000 characters, and more than that around them.
    const bytesEach = ((await heap()) - before) / TASKS;
    expect(bytesEach).toBeLessThan(400);

    const made = TASKS + WARM_UP;
    expect(await bed.disk.liveCounts!()).toEqual({ working: 0, input_required: made });
    expect([runs, effects]).toEqual([made, made]);
    await client.answer(ids[1234]!, { go: { action: 'decline' } });
    expect(await resultOf(client, ids[1234]!)).toBe('decline 10000 2468');
    expect([runs, effects]).toEqual([made + 1, made]);
  },
);
