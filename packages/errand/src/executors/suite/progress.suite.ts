import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { StoredEvent } from '../../task/event.ts';
import type { Progress, Task } from '../../task/task.ts';
import { begin, delay, makeBed, soon, type Bed, type Disk } from './bed.suite.ts';

/** Every progress that a task was seen with on disk, in order. */
function follow(bed: Bed, id: string): Progress[] {
  const seen: Progress[] = [];
  bed.disk.subscribe((task: Task) => {
    if (task.id !== id || task.progress === undefined) return;
    const last = seen.at(-1);
    if (last?.done !== task.progress.done || last.total !== task.progress.total) seen.push(task.progress);
  });
  return seen;
}

/** How far tasks show that they are (P-1 to P-6). */
export function progressSuite(openDisk: () => Disk): void {
  describe('progress', () => {
    it('is shown soon, never falls, and its total is never below it (P-2 to P-5)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('count', { task: 'always' }, async (_, task) => {
          for (const [done, total] of [
            [1, 4],
            [0, 2],
            [3, undefined],
            [5, 5],
          ] as const) {
            task.progress(done, total);
            await task.step('work', () => delay(10));
          }
          await task.sleep('300ms');
          return 'done';
        }),
      );
      const id = await begin(client, 'count');
      const seen = follow(bed, id);
      await client.until(id, 'completed');
      expect((await bed.disk.read(id))!.progress).toEqual({ done: 5, total: 5 });
      for (const [index, { done, total }] of seen.entries()) {
        expect(total!).toBeGreaterThanOrEqual(done);
        if (index > 0) expect(done).toBeGreaterThanOrEqual(seen[index - 1]!.done);
      }
    });

    it('that comes a thousand times is written five times a second, and the last one is not lost', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('count', { task: 'always' }, async (_, task) => {
          await task.step('work', async () => {
            for (let done = 1; done <= 1000; done++) {
              task.progress(done, 1000, `at ${done}`);
              if (done % 10 === 0) await delay(5);
            }
          });
          return 'done';
        }),
      );
      const begun = performance.now();
      const id = await begin(client, 'count');
      await client.until(id, 'completed');
      const seconds = (performance.now() - begun) / 1000;
      const shown = (await bed.disk.events(id, 0, 10_000)).filter(({ kind }) => kind === 'progress');
      expect(shown.length).toBeGreaterThan(1);
      expect(shown.length).toBeLessThanOrEqual(5 * seconds + 3);
      expect(await bed.disk.read(id)).toMatchObject({ progress: { done: 1000 }, statusMessage: 'at 1000' });
      expect(shown.at(-1)).toMatchObject({ progress: { done: 1000, total: 1000 }, message: 'at 1000' });
    });

    it('of a loop shows how many items are done', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('loop', { task: 'always' }, async (_, task) => {
          const said: string[] = [];
          for await (const item of task.track(['a', 'b', 'c'], (item, index) => `${index}: ${item}`)) {
            said.push(await task.step(item, () => item.toUpperCase()));
          }
          return said.join();
        }),
      );
      const id = await begin(client, 'loop');
      await client.until(id, 'completed');
      expect(await bed.disk.read(id)).toMatchObject({ progress: { done: 3, total: 3 }, statusMessage: '2: c' });
    });

    it.for<[string, readonly unknown[], RegExp]>([
      ['a negative number', [-1], /done is -1/],
      ['no number', ['1'], /done is 1; it is a number/],
      ['a total below what is done', [3, 2], /total is 2.*not below done, 3/],
    ])('refuses %s', async ([, args, why], t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('count', {}, async (_, task) => {
          task.progress(...(args as [number]));
          return 'done';
        }),
      );
      expect(JSON.stringify(await client.call('count'))).toMatch(why);
    });

    it('of subtasks is rolled up to the root by their weight, also while nothing of it is in memory', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand
          .tool('root', { task: 'always' }, async (_, task) => {
            await Promise.all([
              task.subtask('middle', 'middle', {}, { weight: 3 }),
              task.subtask('quick', 'part', { ms: 1 }),
            ]);
            return 'done';
          })
          .tool('middle', {}, async (_, task) => {
            await Promise.all([task.subtask('one', 'part', { ms: 1 }), task.subtask('two', 'part', { ms: 2500 })]);
            return 'done';
          })
          .tool('part', { inputSchema: z.object({ ms: z.number() }) }, async ({ ms }, task) => {
            await task.sleep(ms);
            return 'done';
          }),
      );
      const id = await begin(client, 'root');
      // The quick one counts 1; of the middle one, which counts 3, a half is done.
      await soon(async () => (await bed.disk.read(id))!.progress?.done === 2.5);
      expect((await bed.disk.read(id))!.progress).toEqual({ done: 2.5, total: 4, rolledUp: true });
      await client.until(id, 'completed');
      expect((await bed.disk.read(id))!.progress).toMatchObject({ done: 4, total: 4 });
    });

    it('that the handler reports is not overruled by its subtasks', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand
          .tool('root', { task: 'always' }, async (_, task) => {
            task.progress(1, 10);
            await task.subtask('part', 'part');
            await task.sleep('400ms');
            return 'done';
          })
          .tool('part', {}, (_, task) => `done ${task.id.length > 0}`),
      );
      const id = await begin(client, 'root');
      await client.until(id, 'completed');
      expect((await bed.disk.read(id))!.progress).toEqual({ done: 1, total: 10 });
      const events: StoredEvent[] = await bed.disk.events(id, 0, 100);
      expect(events.map(({ kind }) => kind)).toContain('subtask_ended');
    });
  });
}
