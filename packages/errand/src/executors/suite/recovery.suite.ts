import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { PreviousVersion, ToolOptions } from '../../engine/tool.ts';
import { begin, delay, makeBed, parked, PATIENCE, resultOf, soon, type Define, type Disk } from './bed.suite.ts';

const GO = z.object({ go: z.boolean() });
const YES = { action: 'accept', content: { go: true } };

/** What becomes of tasks when a server dies, its store fails, or its code changes. */
export function recoverySuite(openDisk: () => Disk): void {
  describe('a server that dies', () => {
    it('at whatever write ends each task as an unkilled one would (CASES 15)', { timeout: 60_000 }, async (t) => {
      const results = new Set<string>();
      for (let point = 2, crashed = true; crashed; point++) {
        const bed = await makeBed(openDisk(), t);
        const effects: string[] = [];
        const define: Define = (errand) =>
          errand.tool('build', { task: 'always' }, async (_, task) => {
            const effect = (name: string): Promise<string> =>
              task.step(name, async () => {
                await delay(2);
                effects.push(name);
                return name.toUpperCase();
              });
            const plan = await effect('plan');
            const answered = task.elicit('go', { message: 'Go?', schema: GO });
            const parts = await Promise.all([effect('a'), effect('b').then((b) => effect(`${b}2`))]);
            await task.sleep(10);
            const { action } = await answered;
            return [plan, ...parts, action, await effect('last')].join(' ');
          });
        const first = await bed.server(define);
        const id = await begin(first.client, 'build');
        // Each write in turn: once it is not made, once nobody hears of it.
        first.store.crashAt(point >> 1, point % 2 === 0 ? 'before' : 'after');
        const answering = (client: typeof first.client): Promise<void> =>
          client
            .until(id, ['input_required', 'completed'], PATIENCE)
            .then((task) => (task['status'] === 'completed' ? undefined : client.answer(id, { go: YES })));
        const outlived = await Promise.race([
          answering(first.client).then(() => first.client.until(id, 'completed', PATIENCE)),
          soon(() => first.store.dead).then(() => undefined),
        ]);
        crashed = outlived === undefined;
        // What is under way in a process that dies comes to nothing; here it must be waited for.
        await delay(5);
        const second = await bed.server(define);
        await answering(second.client);
        results.add(await resultOf(second.client, id));
        // No more than what was running when it died may have run twice.
        expect(effects.length).toBeLessThanOrEqual(5 + (crashed ? 2 : 0));
        expect(new Set(effects)).toEqual(new Set(['plan', 'a', 'b', 'B2', 'last']));
      }
      expect([...results]).toEqual(['PLAN A B2 accept LAST']);
    });
  });

  describe('a run that was interrupted', () => {
    /** A tool whose first run never ends; its handler takes no task unless the options say so. */
    function stuckAtFirst(options: ToolOptions): { define: Define; runs: () => number } {
      let runs = 0;
      const handler = async (): Promise<string> => {
        if (++runs === 1) await new Promise(() => undefined);
        return `run ${runs}`;
      };
      return { define: (errand) => errand.tool('work', { task: 'always', ...options }, handler), runs: () => runs };
    }

    it.for<[string, ToolOptions]>([
      ['is idempotent', { annotations: { idempotentHint: true } }],
      ['only reads', { annotations: { readOnlyHint: true } }],
      ['says so', { replay: true }],
    ])('runs again where its tool %s', async ([, options], t) => {
      const bed = await makeBed(openDisk(), t);
      const { define, runs } = stuckAtFirst(options);
      const first = await bed.server(define);
      const id = await begin(first.client, 'work');
      await soon(() => runs() === 1);
      first.store.crash();
      const second = await bed.server(define);
      expect(await resultOf(second.client, id)).toBe('run 2');
    });

    it.for<[string, ToolOptions]>([
      ['takes no task', {}],
      ['says so', { replay: false, annotations: { idempotentHint: true } }],
    ])('ends as failed with an honest reason where its tool %s (CASES 15)', async ([, options], t) => {
      const bed = await makeBed(openDisk(), t);
      const { define, runs } = stuckAtFirst(options);
      const first = await bed.server(define);
      const id = await begin(first.client, 'work');
      await soon(() => runs() === 1);
      first.store.crash();
      const second = await bed.server(define);
      const message = 'the server was interrupted while tool "work" ran, and the tool cannot be run again';
      expect(await second.client.until(id, 'failed', PATIENCE)).toMatchObject({
        statusMessage: message,
        error: { code: -31011, message },
      });
      expect(runs()).toBe(1);
    });

    it('stays in memory while it waits, where its tool cannot run twice', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let runs = 0;
      const { client } = await bed.server((errand) =>
        errand.tool('ask', { task: 'always', replay: false }, async (_, task) => {
          runs++;
          await task.elicit('go', { message: 'Go?', schema: GO });
          return 'answered';
        }),
      );
      const id = await begin(client, 'ask');
      await client.until(id, 'input_required', PATIENCE);
      await delay(1300);
      await client.answer(id, { go: YES });
      expect(await resultOf(client, id)).toBe('answered');
      expect(runs).toBe(1);
    });
  });

  describe('code that no longer fits a journal', () => {
    /** A tool that asks after its steps. */
    const version = (...steps: string[]): Define => {
      return (errand) =>
        errand.tool('build', { task: 'always' }, async (_, task) => {
          task.status('building');
          for (const name of steps) await task.step(name, () => name);
          await task.elicit('go', { message: 'Go?', schema: GO });
          return steps.join();
        });
    };

    it('holds the task and says where; fitting code goes on', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const first = await bed.server(version('a', 'b'));
      const id = await begin(first.client, 'build');
      await first.client.until(id, 'input_required', PATIENCE);
      first.store.crash();

      const misfit = await bed.server(version('a', 'x', 'b'));
      const message =
        'the code no longer fits this task\'s journal: entry 2 is step "b", but the handler begins step "x"';
      await soon(async () => (await bed.disk.read(id))!.held === message);
      expect(await misfit.client.read(id)).toMatchObject({ status: 'input_required', statusMessage: message });
      // It still takes answers, and is not run again for that.
      await misfit.client.answer(id, { go: YES });
      expect(await misfit.client.read(id)).toMatchObject({ status: 'working', statusMessage: message });
      expect((await bed.disk.read(id))!).not.toHaveProperty('wakeAt');
      misfit.store.crash();

      const fitting = await bed.server(version('a', 'b'));
      expect(await resultOf(fitting.client, id)).toBe('a,b');
      expect(await fitting.client.read(id)).toMatchObject({ statusMessage: 'building' });
    });

    it('is tried again when somebody says so', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const first = await bed.server(version('a', 'b'));
      const id = await begin(first.client, 'build');
      await first.client.until(id, 'input_required', PATIENCE);
      first.store.crash();
      const flag = { on: false };
      const { errand, client } = await bed.server((errand) =>
        errand.tool('build', { task: 'always' }, async (_, task) => {
          await task.step('a', () => 'a');
          if (!flag.on) return 'too early';
          await task.step('b', () => 'b');
          await task.elicit('go', { message: 'Go?', schema: GO });
          return 'mended';
        }),
      );
      await soon(async () => (await bed.disk.read(id))!.held !== undefined);
      expect((await bed.disk.read(id))!.held).toContain('entry 2 is step "b", but the handler ended before it');
      expect(await errand.retry(id)).toBe(true);
      await delay(50);
      await soon(async () => (await bed.disk.read(id))!.held !== undefined);
      flag.on = true;
      expect(await errand.retry(id)).toBe(true);
      await client.answer(id, { go: YES });
      expect(await resultOf(client, id)).toBe('mended');
      expect(await errand.retry('AAAAAAAAAAAAAAAAAAAAAA')).toBe(false);
    });

    it('and that never comes back does not keep a task from being cancelled', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const first = await bed.server(version('a'));
      const id = await begin(first.client, 'build');
      await first.client.until(id, 'input_required', PATIENCE);
      first.store.crash();
      const { client } = await bed.server(version('z'));
      await soon(async () => (await bed.disk.read(id))!.held !== undefined);
      await client.cancel(id);
      const cancelled = await client.read(id);
      expect(cancelled).toMatchObject({ status: 'cancelled' });
      expect(cancelled).not.toHaveProperty('statusMessage');
    });

    it('because the tool is gone, its version is, or its arguments do not fit it, holds the task', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const tool = (name: string, options: ToolOptions<z.ZodObject> & { inputSchema: z.ZodObject }): Define => {
        return (errand) =>
          errand.tool(name, { task: 'always', ...options }, async (_, task) => {
            await task.sleep('10m');
            return 'done';
          });
      };
      const N = z.object({ n: z.number() });
      const first = await bed.server((errand) => {
        tool('gone', { inputSchema: N })(errand);
        tool('versioned', { inputSchema: N })(errand);
        tool('stricter', { inputSchema: N })(errand);
      });
      const ids = await Promise.all(
        ['gone', 'versioned', 'stricter'].map((name) => begin(first.client, name, { n: 1 })),
      );
      for (const id of ids) await soon(async () => (await bed.disk.journal(id)).length > 0);
      first.store.crash();
      await bed.server((errand) => {
        tool('versioned', { inputSchema: N, version: '2' })(errand);
        tool('stricter', { inputSchema: z.object({ n: z.number().min(5) }) })(errand);
      });
      const reasons = [];
      for (const id of ids) {
        await soon(async () => (await bed.disk.read(id))!.held !== undefined);
        reasons.push((await bed.disk.read(id))!.held);
      }
      expect(reasons).toEqual([
        'no tool "gone" is registered here',
        'no version "1" of tool "versioned" is registered here',
        expect.stringMatching(/^the task's arguments do not fit tool "stricter" any more: n: /),
      ]);
    });

    it('is kept beside the new code as an earlier version, for the tasks that began with it', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const old: PreviousVersion['handler'] = async ({ name }: { name: string }, task) => {
        await task.step('greet', () => null);
        await task.elicit('go', { message: 'Go?', schema: GO });
        return `old ${name}`;
      };
      const first = await bed.server((errand) =>
        errand.tool('greet', { task: 'always', inputSchema: z.object({ name: z.string() }) }, old),
      );
      const id = await begin(first.client, 'greet', { name: 'Ada' });
      await first.client.until(id, 'input_required', PATIENCE);
      first.store.crash();
      const { client } = await bed.server((errand) =>
        errand.tool(
          'greet',
          {
            task: 'always',
            inputSchema: z.object({ names: z.array(z.string()) }),
            version: '2',
            previous: [{ version: '1', handler: old }],
          },
          async ({ names }, task) => {
            await task.step('new', () => null);
            return `new ${names.join()}`;
          },
        ),
      );
      await client.answer(id, { go: YES });
      expect(await resultOf(client, id)).toBe('old Ada');
      expect(await resultOf(client, await begin(client, 'greet', { names: ['Bob'] }))).toBe('new Bob');
    });
  });

  describe('a store that fails', () => {
    it('for a while lets a run wait for it, and loses nothing', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const effects: string[] = [];
      const { client, store } = await bed.server((errand) =>
        errand.tool('build', { task: 'always' }, async (_, task) => {
          for (const name of ['a', 'b', 'c']) {
            await task.step(name, () => {
              effects.push(name);
              if (effects.length === 2) store.fail(1);
            });
          }
          return 'built';
        }),
      );
      const id = await begin(client, 'build');
      expect(await resultOf(client, id)).toBe('built');
      // The outcome of b was recorded once the store was back; b did not run again.
      expect(effects).toEqual(['a', 'b', 'c']);
    });

    it('at the end of a run, or when it parks, loses nothing either', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let effects = 0;
      let runs = 0;
      const { client, store } = await bed.server((errand) => {
        errand.tool('end', { task: 'always' }, async (_, task) => {
          await task.step('effect', () => void effects++);
          if (++runs === 1) store.fail(1);
          return 'ended';
        });
        errand.tool('park', { task: 'always' }, async (_, task) => {
          await task.elicit('go', { message: 'Go?', schema: GO });
          return 'answered';
        });
      });
      expect(await resultOf(client, await begin(client, 'end'))).toBe('ended');
      expect([runs, effects]).toEqual([1, 1]);
      const park = await begin(client, 'park');
      await client.until(park, 'input_required', PATIENCE);
      store.fail(1);
      await parked(bed, park);
      await client.answer(park, { go: YES });
      expect(await resultOf(client, park)).toBe('answered');
    });

    it('when a task is to be made leaves nothing, and says that trying again may help', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let runs = 0;
      const { client, store } = await bed.server((errand) => {
        errand.tool('always', { task: 'always' }, async (_, task) => task.step('a', () => String(++runs)));
        errand.tool('auto', { patience: 10 }, async (_, task) => {
          await task.step('a', () => delay(60));
          await task.step('b', () => void runs++);
          return 'done';
        });
      });
      for (const tool of ['always', 'auto']) {
        store.fail(1);
        await expect(client.call(tool)).rejects.toMatchObject({ code: -32603, message: /out of reach; try again/ });
      }
      await delay(150);
      expect(runs).toBe(0);
      expect(await bed.disk.live('anonymous')).toBe(0);
    });
  });
}
