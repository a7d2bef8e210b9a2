import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, type TestContext } from 'vitest';
import * as z from 'zod';
import type { Define } from '../testing.ts';
import { sqlite } from '../stores/sqlite.ts';
import { begin, delay, makeBed, textOf } from './suite/bed.suite.ts';

// One handler that makes thousands of subtasks. `ERRAND_FAN_OUT=10000 npm test -- fan-out` makes so many.
const MANY = Number(process.env['ERRAND_FAN_OUT'] ?? 2000);
const FEW = MANY / 5;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** CPU time that this process has taken, in ms: others that keep the machine busy do not count. */
function cpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Measures the turns of the event loop until it is stopped; gives the CPU time of the longest, in ms. */
function watchTurns(): () => number {
  let longest = 0;
  let before = cpu();
  let isOver = false;
  const look = (): void => {
    longest = Math.max(longest, cpu() - before);
    before = cpu();
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  return () => {
    isOver = true;
    return longest;
  };
}

/** Bytes in use on the heap, once nothing more can be collected. */
async function heap(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return process.memoryUsage().heapUsed;
}

async function serve(define: Define, t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'errand-fan-out-'));
  const wipe = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const bed = await makeBed({ store: (clock) => sqlite(join(folder, 'tasks.db'), { clock }), wipe }, t);
  const limits = { liveTasks: Infinity, stepsPerTask: Infinity };
  return { bed, ...(await bed.server(define, { concurrency: 16, limits })) };
}

const COUNT = z.object({ count: z.number() });
const N = z.object({ n: z.number() });

it(
  'thousands of subtasks cost no more each than hundreds, hold nobody up, and run no more at once than they may',
  { timeout: 600_000 },
  async (t) => {
    let busy = 0;
    let most = 0;
    /** What the handler takes by itself for all that it begins at once, in ms. */
    let own = 0;
    const { client } = await serve((errand) => {
      errand.tool('part', { inputSchema: N, concurrency: 8 }, ({ n }, task) =>
        task.step('work', async () => {
          most = Math.max(most, ++busy);
          await new Promise((resolve) => setImmediate(resolve));
          busy--;
          return String(n);
        }),
      );
      errand.tool('main', { task: 'always', inputSchema: COUNT }, async ({ count }, task) => {
        const before = cpu();
        const parts = Array.from({ length: count }, (_, n) => task.subtask(`n${n}`, 'part', { n }));
        own = cpu() - before;
        const sum = (await Promise.all(parts)).reduce((sum, part) => sum + Number(textOf(part)), 0);
        return String(sum);
      });
    }, t);

    async function fanOut(count: number): Promise<{ readonly each: number; readonly longest: number }> {
      const stop = watchTurns();
      const before = cpu();
      const id = await begin(client, 'main', { count });
      const result = await client.until(id, 'completed', 300_000);
      expect(textOf(result['result'] as never)).toBe(String((count * (count - 1)) / 2));
      return { each: (cpu() - before) / count, longest: stop() };
    }

    await fanOut(FEW); // the first time is slow
    const few = await fanOut(FEW);
    const many = await fanOut(MANY);
    expect(many.each).toBeLessThan(2 * few.each);
    expect(many.longest).toBeLessThan(2 * own + 50);
    expect(most).toBe(8);
  },
);

it('thousands of subtasks that wait hold no memory, and their ends cost few runs', { timeout: 600_000 }, async (t) => {
  let runs = 0;
  const { bed, client } = await serve((errand) => {
    errand.tool('part', { inputSchema: N }, async ({ n }, task) => {
      const { action } = await task.elicit('go', { message: 'Go?', schema: z.object({ go: z.boolean() }) });
      return `${action} ${n}`;
    });
    errand.tool('main', { task: 'always', inputSchema: COUNT }, async ({ count }, task) => {
      runs++;
      const parts = Array.from({ length: count }, (_, n) => task.subtask(`n${n}`, 'part', { n }));
      return String((await Promise.all(parts)).length);
    });
  }, t);

  async function waiting(count: number): Promise<string> {
    const id = await begin(client, 'main', { count });
    const made = async (): Promise<number> => (await bed.disk.read(id))!.subtasks ?? 0;
    const due = async (): Promise<number> => (await bed.disk.due(-Infinity, bed.disk.now())).length;
    // Until all are made, and parked.
    while ((await made()) < count || (await due()) > 0) await delay(50);
    return id;
  }

  await waiting(FEW);
  const before = await heap();
  const id = await waiting(MANY);
  const bytesEach = ((await heap()) - before) / MANY;
  expect(bytesEach).toBeLessThan(2000); // a run in memory takes several times that

  runs = 0;
  const began = performance.now();
  const parts = await bed.disk.subtasks(id);
  while (parts.length > 0) {
    // Some at once, as clients do, and over a while.
    const some = parts.splice(0, 20).map((part) => client.answer(part.id, { go: { action: 'decline' } }));
    await Promise.all(some);
  }
  const result = await client.until(id, 'completed', 300_000);
  expect(textOf(result['result'] as never)).toBe(String(MANY));
  // One replay in so many ms at most, and it rests longer the longer it takes.
  expect(runs).toBeLessThan(10 + (performance.now() - began) / 50);
  expect(runs).toBeLessThan(MANY / 10);
});
