import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { begin, delay, makeBed, PATIENCE, resultOf, soon, textOf, type Define, type Disk } from './bed.suite.ts';

/** How many runs are busy at once, which comes next, and what a server that closes still does. */
export function limitSuite(openDisk: () => Disk): void {
  describe('busy runs', () => {
    it('are limited in all and per tool; who waits longest comes next', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const busy: Record<string, number> = { narrow: 0, wide: 0 };
      const most: Record<string, number> = { narrow: 0, wide: 0, all: 0 };
      const order: string[] = [];
      let open!: () => void;
      const gate = new Promise<void>((resolve) => (open = resolve));
      const N = z.object({ n: z.number() });
      const { client } = await bed.server(
        (errand) => {
          for (const [tool, concurrency] of Object.entries({ narrow: 2, wide: 99 })) {
            errand.tool(tool, { task: 'always', inputSchema: N, concurrency }, async ({ n }, task) => {
              await task.step('work', async () => {
                order.push(`${tool} ${n}`);
                most[tool] = Math.max(most[tool]!, ++busy[tool]!);
                most['all'] = Math.max(most['all']!, busy['narrow']! + busy['wide']!);
                await gate;
                await delay(5);
                busy[tool]!--;
              });
              return 'done';
            });
          }
        },
        { concurrency: 3 },
      );
      const ids = [];
      for (let n = 0; n < 8; n++) ids.push(await begin(client, 'narrow', { n }), await begin(client, 'wide', { n }));
      await soon(() => order.length === 3);
      await delay(50);
      expect(busy).toEqual({ narrow: 2, wide: 1 });
      open();
      for (const id of ids) await resultOf(client, id);
      expect(most).toMatchObject({ narrow: 2, all: 3 });
      for (const tool of ['narrow', 'wide']) {
        const own = order.filter((line) => line.startsWith(tool));
        expect(own).toEqual(Array.from({ length: 8 }, (_, n) => `${tool} ${n}`));
      }
    });

    it('are taken up oldest first after a restart', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const order: number[] = [];
      let dying = true;
      const define: Define = (errand) =>
        errand.tool('work', { task: 'always', inputSchema: z.object({ n: z.number() }) }, async ({ n }, task) => {
          await task.step('work', () => (dying ? new Promise<never>(() => undefined) : order.push(n)));
          return 'done';
        });
      const first = await bed.server(define, { concurrency: 1 });
      const ids = [];
      for (let n = 0; n < 6; n++) {
        ids.push(await begin(first.client, 'work', { n }));
        await delay(3);
      }
      first.store.crash();
      dying = false;
      const second = await bed.server(define, { concurrency: 1 });
      for (const id of ids) await resultOf(second.client, id);
      expect(order).toEqual([0, 1, 2, 3, 4, 5]);
    });
  });

  describe('a server that closes', () => {
    it('lets running steps end, answers who waits for it, and leaves the rest to the next one', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const started: string[] = [];
      const effects: string[] = [];
      const inputSchema = z.object({ name: z.string() });
      const define: Define = (errand) =>
        errand.tool('work', { task: 'always', inputSchema, holdFor: Infinity }, async ({ name }, task) => {
          await task.step('slow', async () => {
            started.push(name);
            await delay(120);
            effects.push(`${name} slow`);
          });
          await task.sleep(2000);
          await task.step('later', () => effects.push(`${name} later`));
          return name;
        });
      const first = await bed.server(define, { concurrency: 2 });
      const running = await begin(first.client, 'work', { name: 'running' });
      await soon(() => started.length === 1);
      const held = first.plain.call('work', { name: 'held' });
      await soon(() => started.length === 2);
      const queued = first.plain.call('work', { name: 'queued' });
      await delay(30);
      const refusals = Promise.allSettled([held, queued]);
      await first.errand.close();
      const draining = { status: 'rejected', reason: { code: -31003 } };
      expect(await refusals).toMatchObject([draining, draining]);
      expect(effects).toContain('running slow');
      await expect(first.client.call('work', { name: 'x' })).rejects.toThrow();

      const second = await bed.server(define);
      expect(await resultOf(second.client, running)).toBe('running');
      // What ended before the close did not run again; what had no task is gone.
      expect(effects.filter((line) => line === 'running slow')).toHaveLength(1);
      expect(effects).not.toContain('held later');
    });

    it('hands off the calls that it holds, and the next one ends them', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const effects: string[] = [];
      const define: Define = (errand) =>
        errand.tool('work', { inputSchema: z.object({ name: z.string() }) }, async ({ name }, task) => {
          await task.step('first', () => effects.push(`${name} first`));
          await task.step('slow', () => delay(120).then(() => effects.push(`${name} slow`)));
          await task.sleep(300);
          return name;
        });
      const names = ['running', 'queued'];
      const first = await bed.server(define, { concurrency: 1 });
      const calls = names.map((name) => first.plain.call('work', { name }));
      await soon(() => effects.length === 1);
      await first.errand.close();
      const handed = await Promise.all(calls);
      expect(handed).toMatchObject(names.map(() => ({ structuredContent: { status: 'working' } })));

      const second = await bed.server(define);
      for (const [at, name] of names.entries()) {
        const { taskId } = handed[at]!['structuredContent'] as { taskId: string };
        expect(textOf(await second.plain.call('task_status', { taskId }))).toBe(name);
      }
      expect(effects.sort()).toEqual(['queued first', 'queued slow', 'running first', 'running slow']);
    });

    it('begins no other step of what runs, and no other attempt, and loses none', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const effects: string[] = [];
      const steps = Array.from({ length: 20 }, (_, n) => `step ${n}`);
      let failures = 0;
      const define: Define = (errand) =>
        errand.tool('work', { task: 'always' }, async (_, task) => {
          const flaky = task.step(
            'flaky',
            ({ attempt }) => {
              if (attempt === 1) failures++;
              else effects.push('flaky');
              if (attempt === 1) throw new Error('not yet');
            },
            { retry: { attempts: 2, backoff: 300 } },
          );
          for (const [n, name] of steps.entries()) {
            await task.step(name, () => delay(60).then(() => void effects.push(name)), { atMostOnce: n % 2 === 1 });
          }
          await flaky;
          return 'done';
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'work');
      await soon(() => effects.length === 2);
      await first.errand.close();
      expect(effects.length).toBeLessThanOrEqual(4);
      expect(failures).toBe(1);

      const second = await bed.server(define);
      expect(await resultOf(second.client, id)).toBe('done');
      expect(effects.sort()).toEqual(['flaky', ...steps].sort());
    });

    it('begins no call and no task any more', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let runs = 0;
      const { errand, client } = await bed.server(
        (errand) =>
          errand.tool('work', { task: 'always' }, async (_, task) => {
            runs++;
            await task.step('a', () => delay(50));
            return 'done';
          }),
        { concurrency: 1 },
      );
      await begin(client, 'work');
      const second = await begin(client, 'work');
      await soon(() => runs === 1);
      await errand.close();
      await delay(50);
      expect(runs).toBe(1);
      expect((await bed.disk.read(second))!.status).toBe('working');
    });
  });

  describe('a server that was never asked anything', () => {
    it('starts with its first call, and takes up what is due then', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { errand, store } = await bed.server((errand) => errand.tool('work', {}, () => 'done'));
      await errand.start(); // once more does nothing
      expect(() => errand.tool('late', {}, () => 'done')).toThrow(/register tools before the server starts/);
      store.crash(); // else it would run the calls of both
      const { client } = await bed.server((errand) => {
        errand.tool('work', {}, () => 'again');
        expect(() => errand.tool('work', {}, () => 'twice')).toThrow('tool "work" is there already');
      });
      expect(textOf(await client.call('work'))).toBe('again');
      await expect(client.call('none')).rejects.toMatchObject({ code: -32602 });
      await expect(client.until('AAAAAAAAAAAAAAAAAAAAAA', 'working', PATIENCE)).rejects.toMatchObject({ code: -32602 });
    });
  });
}
