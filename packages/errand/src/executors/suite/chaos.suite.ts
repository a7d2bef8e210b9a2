import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { TaskContext } from '../../engine/context.ts';
import { begin, delay, makeBed, resultOf, soon, type Define, type Disk } from './bed.suite.ts';

const N = z.object({ n: z.number() });

/** A repeatable source of whole numbers below `limit`. */
function numbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >>> 8) % limit;
  };
}

/** Everything at once, over servers that die at random moments. */
export function chaosSuite(openDisk: () => Disk): void {
  describe('whatever happens in whatever order', () => {
    it('every later run decides as the first one did: steps, sleeps, time limits, answers and signals in races', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const diverged: string[] = [];

      /** Records what a run came to here, and notes where an earlier one came to something else. */
      async function decide(task: TaskContext, round: number, came: unknown): Promise<void> {
        const text = JSON.stringify(came);
        const kept = await task.step('decision', () => text);
        if (kept !== text) diverged.push(`round ${round} was ${kept}, and is ${text}`);
      }

      const define: Define = (errand) =>
        errand.tool('chaos', { task: 'always', inputSchema: N }, async ({ n }, task) => {
          const next = numbers(n);
          for (let round = 0; round < 5; round++) {
            const over = new AbortController();
            const ask = (key: string, timeout: number): Promise<string> =>
              task.elicit(`${key} ${round}`, { message: key, schema: z.object({}), timeout, signal: over.signal }).then(
                ({ action }) => action,
                (error: Error) => error.name,
              );
            const step = (name: string, ms: number): Promise<string> =>
              task
                .step(name, () => delay(ms).then(() => (ms % 3 === 0 ? Promise.reject(new Error(name)) : name)))
                .catch((error: Error) => `failed ${error.message}`);
            const nap = (ms: number): Promise<string> => task.sleep(ms).then(() => 'slept');
            const ways = [
              ask('quick', next(25) + 1),
              ask('slow', next(60) + 20),
              step('a', next(20)),
              nap(next(30)),
              nap(next(10)).then(() => step('after a nap', next(15))),
            ];
            const chosen = ways.filter((_, index) => (next(3) + index) % 2 === 0 || index === 3);
            const first = await Promise.race(chosen);
            if (next(2) === 0) over.abort();
            await decide(task, round, first);
            await decide(task, round, await Promise.all(ways));
          }
          const over = new AbortController();
          const asked = (key: string, more: object) =>
            task.elicit(key, { message: key, schema: z.object({}), ...more }).then(
              ({ action }) => action,
              (error: Error) => error.name,
            );
          const last = [
            asked('withdrawn', { signal: over.signal }),
            asked('timed', { timeout: 1 }),
            asked('answered', {}),
          ];
          over.abort();
          await decide(task, 5, await Promise.all(last));
          return `done at ${task.now() > 0 ? 'last' : 'never'}`;
        });

      let server = await bed.server(define);
      const ids: string[] = [];
      for (let n = 1; n <= 12; n++) ids.push(await begin(server.client, 'chaos', { n }));
      const next = numbers(7);

      /** Answers what is open, some of it too late. */
      async function answerSome(): Promise<void> {
        for (const id of ids) {
          const { inputs } = (await bed.disk.read(id))!;
          const open = Object.keys(inputs).filter((key) => inputs[key]!.state === 'open');
          const picked = open.filter(() => next(3) === 0).map((key) => [key, { action: 'decline' }]);
          if (picked.length > 0) void server.client.answer(id, Object.fromEntries(picked)).catch(() => undefined);
        }
      }

      for (let crash = 0; crash < 8; crash++) {
        server.store.crashAt(1 + next(60), next(2) === 0 ? 'before' : 'after');
        const { store } = server;
        const until = Date.now() + 1000;
        while (!store.dead && Date.now() < until) await Promise.all([answerSome(), delay(4)]);
        store.crash();
        server = await bed.server(define);
      }
      const unended = async (): Promise<number> => {
        const tasks = await Promise.all(ids.map((id) => bed.disk.read(id)));
        for (const task of tasks) expect(task?.held).toBeUndefined();
        return tasks.filter((task) => task!.outcome === undefined).length;
      };
      await soon(async () => {
        await answerSome();
        return (await unended()) === 0;
      });
      for (const id of ids) expect(await resultOf(server.client, id)).toBe('done at last');
      expect(diverged).toEqual([]);
    });
  });
}
