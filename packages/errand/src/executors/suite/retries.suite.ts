import { describe, expect, it, type TestContext } from 'vitest';
import * as z from 'zod';
import type { RetryPolicy, TaskContext } from '../../engine/context.ts';
import type { Errand } from '../../errand.ts';
import type { Disk } from './bed.suite.ts';
import { cameTo, turnedBed, type TurnedBed } from './turned.suite.ts';

const HOUR = 3_600_000;
const GO = z.object({ go: z.boolean() });
const RETRY: RetryPolicy = { attempts: 3, backoff: '1h', maxBackoff: '3h' };

type Work = (task: TaskContext, bed: TurnedBed) => Promise<unknown>;

/** Runs that fail as a whole, and are tried again as their tool says. */
export function retrySuite(openDisk: () => Disk): void {
  /** A tool that does some work, and one that may be its subtask. */
  async function bedOf(work: Work, t: TestContext, retry: RetryPolicy = RETRY, options = {}): Promise<TurnedBed> {
    const define = (errand: Errand): unknown =>
      errand
        .tool('work', { task: 'always', retry, deadline: '30d', ...options }, async (_, task) =>
          JSON.stringify(await work(task, bed)),
        )
        .tool('say', {}, (_, task) => task.step('say', () => 'said'));
    const bed: TurnedBed = await turnedBed(openDisk(), define, t);
    return bed;
  }

  /** Notes that it takes place, and fails the first times that it does. */
  function failing(times: number, effects: string[], name = 'fails'): () => string {
    return () => {
      effects.push(name);
      if (effects.filter((one) => one === name).length <= times) throw new Error('jam');
      return name;
    };
  }

  const jam = { status: 'completed', result: { isError: true, content: [{ text: 'jam' }] } };

  describe('a run that is tried again', () => {
    it('is not for what came before a step that must run once, be it in memory only', async (t) => {
      let effects = 0;
      const bed = await bedOf(
        async (task) => {
          try {
            return await task.step('fails', () => Promise.reject(new Error('jam')));
          } catch (error) {
            await task.step('once', () => void effects++, { atMostOnce: true });
            throw error;
          }
        },
        t,
        RETRY,
        { task: 'auto' },
      );
      expect(await bed.client.call('work')).toMatchObject(jam.result);
      await bed.clock.advance('1d');
      expect(effects).toBe(1);
    });

    it('fails by itself, and harms nobody, where what says whether it is worth it throws', async (t) => {
      const retry: RetryPolicy = { ...RETRY, when: (error) => (error as unknown as { data: { x: boolean } }).data.x };
      const bed = await bedOf((task) => task.step('fails', () => Promise.reject(new Error('reset'))), t, retry);
      const id = await bed.client.begin('work');
      await bed.clock.settle();
      const { result } = await bed.client.read(id);
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('undefined') }] });
      expect(await bed.client.call('say')).toMatchObject({ content: [{ text: 'said' }] });
    });

    it('repeats the step that failed under its key, and keeps all else', async (t) => {
      const effects: string[] = [];
      const keys = new Set<string>();
      const seen: unknown[] = [];
      const bed = await bedOf(async (task) => {
        const known = [task.now(), task.uuid(), await task.step('before', () => effects.push('before'))];
        const { content } = await task.elicit('go', { message: 'Go?', schema: GO });
        await task.subtask('below', 'say');
        seen.push([...known, content?.go]);
        const effect = failing(2, effects);
        return task.step('fails', ({ key }) => (keys.add(key), effect()));
      }, t);
      const id = await bed.client.begin('work');
      await bed.clock.settle();
      await bed.client.answer(id, { go: { action: 'accept', content: { go: true } } });
      await bed.clock.advance('1d');
      expect(await bed.client.read(id)).toMatchObject(cameTo('"fails"'));
      expect(effects).toEqual(['before', 'fails', 'fails', 'fails']);
      expect(keys.size).toBe(1);
      expect(seen).toHaveLength(3);
      expect(new Set(seen.map((values) => JSON.stringify(values))).size).toBe(1);
      expect(await bed.disk.subtasks(id)).toHaveLength(1);
    });

    it('waits twice as long each time, no longer than it should, and says so in its log', async (t) => {
      const at: number[] = [];
      const effects: string[] = [];
      const bed = await bedOf(
        (task, { clock }) => {
          const effect = failing(3, effects);
          return task.step('fails', () => (at.push(clock.elapsed()), effect()));
        },
        t,
        { attempts: 4, backoff: '1h', maxBackoff: '150m' },
      );
      const id = await bed.client.begin('work');
      await bed.clock.advance('1d');
      const waits = at.slice(1).map((time, index) => (time - at[index]!) / HOUR);
      expect(waits).toHaveLength(3);
      expect(waits[0]).toBeGreaterThanOrEqual(1);
      expect(waits[0]).toBeLessThan(2);
      expect(waits[1]).toBeGreaterThanOrEqual(2);
      expect(waits[2]).toBe(2.5);
      const retried = (await bed.disk.events(id, 0, 100)).filter(({ kind }) => kind === 'retried');
      expect(retried).toMatchObject([1, 2, 3].map((attempt) => ({ attempt, failure: { message: 'jam' } })));
      expect(retried.map((event) => 'next' in event && event.next - bed.clock.now() + bed.clock.elapsed())).toEqual(
        at.slice(1),
      );
    });

    it('ends with its failure after the last attempt', async (t) => {
      const effects: string[] = [];
      const bed = await bedOf((task) => task.step('fails', failing(9, effects)), t);
      const id = await bed.client.begin('work');
      await bed.clock.advance('1d');
      expect(await bed.client.read(id)).toMatchObject(jam);
      expect(effects).toHaveLength(3);
    });

    it('ends at once with a failure that is not one to try again, or for which no time is left', async (t) => {
      const picky = await bedOf((task) => task.step('fails', failing(1, [])), t, {
        ...RETRY,
        when: ({ message }) => message === 'rain',
      });
      const late = await bedOf((task) => task.step('fails', failing(1, [])), t, RETRY, { deadline: '59m' });
      for (const bed of [picky, late]) {
        const id = await bed.client.begin('work');
        await bed.clock.settle();
        expect(await bed.client.read(id)).toMatchObject(jam);
      }
    });

    it('may have failed for a reason of the handler’s own', async (t) => {
      const effects: string[] = [];
      const bed = await bedOf(async (task) => {
        await task.step('before', () => effects.push('before'));
        failing(2, effects, 'thrown')();
        return 'at last';
      }, t);
      const id = await bed.client.begin('work');
      await bed.clock.advance('1d');
      expect(await bed.client.read(id)).toMatchObject(cameTo('"at last"'));
      expect(effects).toEqual(['before', 'thrown', 'thrown', 'thrown']);
    });

    it.for<[string, (task: TaskContext) => Promise<unknown>]>([
      ['a question was put', (task) => task.elicit('again', { message: 'Again?', schema: GO, timeout: '1m' })],
      ['a subtask was made', async (task) => task.subtask('clean', 'say')],
      ['a step was begun that must run once', (task) => task.step('once', () => 1, { atMostOnce: true })],
    ])('is not, where %s after the failure: that would be done twice', async ([, after], t) => {
      const effects: string[] = [];
      const bed = await bedOf(async (task) => {
        try {
          return await task.step('fails', failing(1, effects));
        } catch (error) {
          await after(task).catch(() => undefined);
          throw error;
        }
      }, t);
      const id = await bed.client.begin('work');
      await bed.clock.advance('1d');
      expect(await bed.client.read(id)).toMatchObject(jam);
      expect(effects).toEqual(['fails']);
    });

    it('is not for a step that must run once, nor for a subtask, which its own tool tries again', async (t) => {
      let effects = 0;
      const once = await bedOf(
        (task) =>
          task.step(
            'once',
            () => {
              effects++;
              throw new Error('jam');
            },
            { atMostOnce: true },
          ),
        t,
      );
      const below = await bedOf(async (task) => task.subtask('no such tool', 'none'), t);
      for (const [bed, text] of [
        [once, 'jam'],
        [below, 'subtask "no such tool" failed: there is no tool "none"'],
      ] as const) {
        const id = await bed.client.begin('work');
        await bed.clock.advance('1d');
        expect(await bed.client.read(id)).toMatchObject({ result: { isError: true, content: [{ text }] } });
      }
      expect(effects).toBe(1);
    });

    it('repeats nothing that ran beside the step that failed', async (t) => {
      const effects: string[] = [];
      const bed = await bedOf(async (task, { clock }) => {
        const long = task.step('long', async () => {
          effects.push('long begins');
          await clock.sleep('90m');
          effects.push('long ends');
          return 'long';
        });
        const short = task.step('short', () => effects.push('short')).then(() => task.step('next', () => 'next'));
        return Promise.all([task.step('fails', failing(1, effects)), long, short]);
      }, t);
      const id = await bed.client.begin('work');
      await bed.clock.advance('1d');
      expect(await bed.client.read(id)).toMatchObject(cameTo('["fails","long","next"]'));
      expect(effects.sort()).toEqual(['fails', 'fails', 'long begins', 'long ends', 'short']);
    });

    it('can be cancelled and paused while it waits', async (t) => {
      const effects: string[] = [];
      const bed = await bedOf((task) => task.step('fails', failing(1, effects)), t);
      const [one, other] = [await bed.client.begin('work'), await bed.client.begin('work')];
      await bed.clock.advance('1m');
      await bed.client.cancel(one);
      await bed.errand.pause(other);
      effects.length = 1; // each failed once
      await bed.clock.advance('1d');
      expect(effects).toHaveLength(1);
      await bed.errand.resume(other);
      await bed.clock.settle();
      expect(await bed.client.read(other)).toMatchObject(cameTo('"fails"'));
      expect(await bed.client.read(one)).toMatchObject({ status: 'cancelled' });
    });

    it('comes to the same wherever the server dies in between', async (t) => {
      for (let turns = 0; turns < 40; turns++) {
        const effects: string[] = [];
        const bed = await bedOf(async (task) => {
          const before = await task.step('before', () => 'before');
          return [before, await task.step('fails', failing(2, effects)), await task.step('after', () => 'after')];
        }, t);
        const id = await bed.client.begin('work');
        for (let crash = 0; crash < 3; crash++) {
          for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
          await bed.restart();
          await bed.clock.advance('2h');
        }
        await bed.clock.advance('1d');
        expect(await bed.client.read(id)).toMatchObject(cameTo('["before","fails","after"]'));
        // A crash in the middle of the step may repeat it; a failure that is on record counts once.
        const retries = (await bed.disk.read(id))!.retries ?? 0;
        expect(retries).toBeLessThanOrEqual(2);
        expect(effects.length).toBeGreaterThanOrEqual(3);
      }
    });
  });
}
