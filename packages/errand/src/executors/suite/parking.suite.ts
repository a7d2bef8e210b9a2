import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { begin, delay, makeBed, parked, PATIENCE, resultOf, soon, type Disk } from './bed.suite.ts';

const GO = z.object({ go: z.boolean() });
const YES = { action: 'accept', content: { go: true } };

/** What waiting costs, and what ends it, on any executor. */
export function parkingSuite(openDisk: () => Disk): void {
  describe('a run that waits', () => {
    it('is let go of after a second, and an answer runs the handler again', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let runs = 0;
      let cleanedUp = 0;
      const { client } = await bed.server((errand) =>
        errand.tool('ask', { task: 'always' }, async (_, task) => {
          runs++;
          try {
            await task.elicit('go', { message: 'Go?', schema: GO });
            return `run ${runs}`;
          } finally {
            cleanedUp++;
          }
        }),
      );
      const id = await begin(client, 'ask');
      await client.until(id, 'input_required', PATIENCE);
      const { lastUpdatedAt, version } = (await bed.disk.read(id))!;
      const task = await parked(bed, id);
      expect(task).not.toHaveProperty('wakeAt');
      // Clients see nothing of it.
      expect(task).toMatchObject({ lastUpdatedAt, version: version + 1, status: 'input_required' });
      expect([runs, cleanedUp]).toEqual([1, 0]);
      await client.answer(id, { go: YES });
      expect(await resultOf(client, id)).toBe('run 2');
      expect([runs, cleanedUp]).toEqual([2, 1]);
    });

    it('is not let go of before that, nor while a step runs beside it', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let effects = 0;
      const { client } = await bed.server((errand) => {
        errand.tool('ask', { task: 'always' }, async (_, task) => {
          await task.elicit('go', { message: 'Go?', schema: GO });
          return 'asked';
        });
        errand.tool('busy', { task: 'always' }, async (_, task) => {
          await Promise.all([
            task.elicit('go', { message: 'Go?', schema: GO }),
            task.step('long', () => delay(1500).then(() => effects++)),
          ]);
          return 'busy';
        });
      });
      const ids = [await begin(client, 'ask'), await begin(client, 'busy')];
      for (const [index, least] of [1000, 2500].entries()) {
        const id = ids[index]!;
        await client.until(id, 'input_required', PATIENCE);
        const { createdAt } = await parked(bed, id);
        expect(bed.disk.now() - createdAt).toBeGreaterThanOrEqual(least);
        await client.answer(id, { go: YES });
        await resultOf(client, id);
      }
      expect(effects).toBe(1);
    });

    it('wakes by itself when a sleep is over, or the time for a question', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const runs = { sleep: 0, ask: 0 };
      const { client } = await bed.server((errand) => {
        errand.tool('sleep', { task: 'always' }, async (_, task) => {
          runs.sleep++;
          await task.sleep(1600);
          return 'slept';
        });
        errand.tool('ask', { task: 'always' }, async (_, task) => {
          runs.ask++;
          return await task.elicit('go', { message: 'Go?', schema: GO, timeout: 1600 }).then(String, String);
        });
      });
      const sleep = await begin(client, 'sleep');
      const ask = await begin(client, 'ask');
      await Promise.all([parked(bed, sleep), parked(bed, ask)]);
      expect(await resultOf(client, sleep)).toBe('slept');
      expect(await resultOf(client, ask)).toMatch(/^InputTimeout/);
      expect(runs).toEqual({ sleep: 2, ask: 2 });
    });

    it('wakes though its time comes in days, and though nobody was told of it', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('sleep', { task: 'always', deadline: '60d' }, async (_, task) => {
          await task.sleep('40d');
          return 'slept';
        }),
      );
      const id = await begin(client, 'sleep');
      const { wakeAt, createdAt } = await parked(bed, id);
      expect(wakeAt! - createdAt).toBeGreaterThanOrEqual(40 * 86_400_000);
      bed.advance(40 * 86_400_000);
      expect(await resultOf(client, id)).toBe('slept');
    });

    it('loses no answer that comes while it is let go of', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('ask', { task: 'always' }, async (_, task) => {
          await task.elicit('go', { message: 'Go?', schema: GO });
          await task.step('after', () => null);
          await task.elicit('more', { message: 'More?', schema: GO });
          return 'done';
        }),
      );
      const ids = await Promise.all(Array.from({ length: 30 }, () => begin(client, 'ask')));
      await Promise.all(
        ids.map(async (id, index) => {
          await client.until(id, 'input_required', PATIENCE);
          await delay(970 + 2 * index);
          await client.answer(id, { go: YES });
          await soon(async () => (await bed.disk.read(id))!.inputs['more']?.state === 'open');
          await client.answer(id, { more: YES });
          expect(await resultOf(client, id)).toBe('done');
        }),
      );
    });

    it('is not let go of when a step begins at that very moment: its effect happens once', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const effects = new Map<string, number>();
      const { client, store } = await bed.server((errand) =>
        errand.tool('nap', { task: 'always' }, async (_, task) => {
          await task.sleep(1000);
          await task.step('effect', async () => {
            effects.set(task.id, (effects.get(task.id) ?? 0) + 1);
            await delay(50);
          });
          return 'done';
        }),
      );
      store.slow(2);
      const ids = await Promise.all(Array.from({ length: 40 }, () => begin(client, 'nap')));
      for (const id of ids) await resultOf(client, id);
      expect([...effects.values()]).toEqual(ids.map(() => 1));
    });

    it.for<[string, number, number]>([
      ['is over meanwhile: it stays', 1300, 1],
      ['is over when the store is back: it stays', 1900, 1],
      ['goes on', 4000, 2],
    ])('loses nothing when the store was away as it was to be let go of, and the wait %s', async ([, ms, most], t) => {
      const bed = await makeBed(openDisk(), t);
      let runs = 0;
      let effects = 0;
      const { client, store } = await bed.server((errand) =>
        errand.tool('nap', { task: 'always' }, async (_, task) => {
          runs++;
          await task.sleep(ms);
          await task.step('effect', () => void effects++);
          return 'done';
        }),
      );
      const id = await begin(client, 'nap');
      await soon(async () => (await bed.disk.journal(id)).length === 1);
      store.fail(Infinity);
      await delay(1700);
      store.fail(0);
      store.slow(20); // as when others write, too
      expect(await resultOf(client, id)).toBe('done');
      expect([runs, effects]).toEqual([most, 1]);
      const journal = await bed.disk.journal(id);
      expect(journal.map(({ seq, type }) => `${seq} ${type}`)).toEqual(['0 begin', '1 end', '2 begin', '3 end']);
    });

    it('can be cancelled while nothing of it is in memory', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let runs = 0;
      const { client } = await bed.server((errand) =>
        errand.tool('ask', { task: 'always' }, async (_, task) => {
          runs++;
          await task.elicit('go', { message: 'Go?', schema: GO });
          return 'never';
        }),
      );
      const id = await begin(client, 'ask');
      await parked(bed, id);
      await client.cancel(id);
      expect(await client.read(id)).toMatchObject({ status: 'cancelled' });
      await client.answer(id, { go: YES });
      await delay(50);
      expect(await client.read(id)).toMatchObject({ status: 'cancelled' });
      expect((await bed.disk.read(id))!.inputs['go']!.state).toBe('withdrawn');
      expect(runs).toBe(1);
    });

    it('holds no slot, and gets one again before it goes on', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let busy = 0;
      let most = 0;
      const work = async (): Promise<void> => {
        most = Math.max(most, ++busy);
        await delay(20);
        busy--;
      };
      const { client } = await bed.server(
        (errand) => {
          errand.tool('ask', { task: 'always' }, async (_, task) => {
            await task.elicit('go', { message: 'Go?', schema: GO });
            await task.step('work', work);
            return 'asked';
          });
          errand.tool('work', { task: 'always' }, async (_, task) => {
            await task.step('work', work);
            return 'worked';
          });
        },
        { concurrency: 1 },
      );
      const asking = await Promise.all(Array.from({ length: 5 }, () => begin(client, 'ask')));
      await Promise.all(asking.map((id) => client.until(id, 'input_required', PATIENCE)));
      const working = await begin(client, 'work');
      expect(await resultOf(client, working)).toBe('worked');
      await Promise.all(asking.map((id) => client.answer(id, { go: YES })));
      await Promise.all(asking.map((id) => resultOf(client, id)));
      expect(most).toBe(1);
    });
  });

  describe('a sleep', () => {
    it('ends when it is due, though the server was away meanwhile', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const woke: number[] = [];
      const define = (errand: Parameters<Parameters<typeof bed.server>[0]>[0]) =>
        errand.tool('sleep', { task: 'always' }, async (_, task) => {
          await task.sleep('2h');
          woke.push(bed.disk.now());
          return 'slept';
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'sleep');
      await soon(async () => (await bed.disk.journal(id)).length === 1);
      const [entry] = await bed.disk.journal(id);
      const due = (entry as { value: number }).value;
      first.store.crash();
      bed.advance(3_600_000);
      const second = await bed.server(define);
      await delay(100);
      expect(woke).toEqual([]);
      expect((await bed.disk.journal(id))[0]).toEqual(entry);
      bed.advance(3_600_000);
      expect(await resultOf(second.client, id)).toBe('slept');
      expect(woke[0]).toBeGreaterThanOrEqual(due);
    });
  });

  describe('a wait that is longer than what is left', () => {
    it('is an error where it is written, the same in every run', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const rounds: string[][] = [];
      let dying = true;
      const define = (errand: Parameters<Parameters<typeof bed.server>[0]>[0]) =>
        errand.tool('wait', { task: 'always', deadline: '1h' }, async (_, task) => {
          const failed = (wait: Promise<unknown>): Promise<string> => wait.then(String, String);
          rounds.push([
            await failed(task.sleep('2h')),
            await failed(task.elicit('go', { message: 'Go?', schema: GO, timeout: '61m' })),
          ]);
          if (dying) await new Promise(() => undefined);
          return rounds.at(-1)!.join('\n');
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'wait');
      await soon(() => rounds.length === 1);
      first.store.crash();
      dying = false;
      bed.advance(60_000);
      const second = await bed.server(define);
      await resultOf(second.client, id);
      const { deadlineAt } = (await bed.disk.read(id))!;
      const deadline = new Date(deadlineAt).toISOString();
      expect(rounds[0]).toEqual([
        `DeadlineError: a sleep does not fit before the task's deadline (${deadline}); give the tool a longer deadline`,
        `DeadlineError: waiting for the answer to "go" does not fit before the task's deadline (${deadline}); give the tool a longer deadline`,
      ]);
      expect(rounds[1]).toEqual(rounds[0]);
      // The question was never put.
      expect((await bed.disk.read(id))!.inputs).toEqual({});
    });
  });
}
