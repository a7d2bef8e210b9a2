import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Errand } from '../../errand.ts';
import { isTerminal, type Task } from '../../task/task.ts';
import { textOf, type Disk } from './bed.suite.ts';
import { cameTo, turnedBed, type TurnedBed } from './turned.suite.ts';

const GO = z.object({ go: z.boolean() });
const YES = { action: 'accept', content: { go: true } };

/** Tasks that are paused and resumed, by whoever runs the server. */
export function pauseSuite(openDisk: () => Disk): void {
  describe('a paused task', () => {
    /** A tool whose steps take an hour each. */
    function worker(effects: string[], names: readonly string[], options = {}) {
      return (errand: Errand, bed: () => TurnedBed): unknown =>
        errand.tool('work', { task: 'always', deadline: '30d', ...options }, async (_, task) => {
          for (const name of names) {
            await task.step(name, async () => {
              effects.push(`${name} begins`);
              await bed().clock.sleep('1h');
              effects.push(`${name} ends`);
            });
          }
          return 'worked';
        });
    }

    async function bedOf(
      define: (errand: Errand, bed: () => TurnedBed) => unknown,
      t: Parameters<typeof turnedBed>[2],
    ) {
      const bed: TurnedBed = await turnedBed(openDisk(), (errand) => define(errand, () => bed), t);
      return bed;
    }

    it('begins no step, while those that run end and are recorded', async (t) => {
      const effects: string[] = [];
      const bed = await bedOf(worker(effects, ['a', 'b']), t);
      const id = await bed.client.begin('work');
      await bed.clock.advance('30m');
      expect(await bed.errand.pause(id, 'lunch')).toBe(true);
      await bed.clock.advance('5h');
      expect(effects).toEqual(['a begins', 'a ends']);
      expect(await bed.client.read(id)).toMatchObject({ status: 'working', statusMessage: 'paused: lunch' });
      expect(await bed.errand.resume(id)).toBe(true);
      await bed.clock.advance('1h');
      expect(effects).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
      expect(await bed.client.read(id)).toMatchObject(cameTo('worked'));
    });

    it('is let go of after a second, once its effects have ended', async (t) => {
      let runs = 0;
      const bed = await bedOf(
        (errand, bed) =>
          errand.tool('work', { task: 'always' }, async (_, task) => {
            runs++;
            await task.step('a', () => bed().clock.sleep('1h'));
            await task.step('b', () => undefined);
            return 'worked';
          }),
        t,
      );
      const id = await bed.client.begin('work');
      await bed.errand.pause(id);
      await bed.clock.advance('59m');
      const parked = async () => (await bed.disk.events(id, 0, 100)).filter(({ kind }) => kind === 'parked').length;
      expect(await parked()).toBe(0);
      await bed.clock.advance('2m');
      expect(await parked()).toBe(1);
      expect(runs).toBe(1);
      await bed.errand.resume(id);
      await bed.clock.settle();
      expect(runs).toBe(2);
      expect(await bed.client.read(id)).toMatchObject(cameTo('worked'));
    });

    it('stays paused through a crash, and goes on from where it was', async (t) => {
      const effects: string[] = [];
      const bed = await bedOf(worker(effects, ['a', 'b', 'c']), t);
      const id = await bed.client.begin('work');
      await bed.clock.advance('90m');
      await bed.errand.pause(id);
      await bed.restart();
      await bed.clock.advance('2d');
      expect(effects).toEqual(['a begins', 'a ends', 'b begins', 'b ends']); // nobody stops what a dead process began
      await bed.errand.resume(id);
      await bed.clock.advance('2h');
      expect(effects.slice(4)).toEqual(['b begins', 'b ends', 'c begins', 'c ends']);
      expect(await bed.client.read(id)).toMatchObject(cameTo('worked'));
    });

    it('keeps its deadline', async (t) => {
      const bed = await bedOf(worker([], ['a', 'b'], { deadline: '5h' }), t);
      const id = await bed.client.begin('work');
      await bed.errand.pause(id);
      await bed.clock.advance('5h');
      expect(await bed.client.read(id)).toMatchObject({ status: 'failed', error: { code: -31010 } });
    });

    it('can be cancelled', async (t) => {
      const bed = await bedOf(worker([], ['a']), t);
      const id = await bed.client.begin('work');
      await bed.errand.pause(id);
      await bed.clock.advance('1m');
      await bed.client.cancel(id);
      expect(await bed.client.read(id)).toMatchObject({ status: 'cancelled' });
      expect(await bed.errand.resume(id)).toBe(false);
    });

    it('sleeps on, and is asked and answered as ever', async (t) => {
      const bed = await bedOf(
        (errand) =>
          errand.tool('wait', { task: 'always' }, async (_, task) => {
            const asked = task.elicit('go', { message: 'Go?', schema: GO });
            await task.sleep('2h');
            const slept = task.now();
            const { action } = await asked;
            await task.step('go', () => undefined);
            return `${action}, slept until ${new Date(slept).toISOString().slice(11, 16)}`;
          }),
        t,
      );
      const id = await bed.client.begin('wait');
      await bed.clock.advance('1h');
      await bed.errand.pause(id);
      await bed.client.answer(id, { go: YES });
      await bed.clock.advance('2h');
      expect((await bed.client.read(id))['status']).toBe('working');
      await bed.errand.resume(id);
      await bed.clock.settle();
      // The time is that at which it was let go on: a handler notices no more of it.
      expect(await bed.client.read(id)).toMatchObject(cameTo('accept, slept until 03:00'));
    });

    it('tries no step again, and does so when it is resumed', async (t) => {
      let attempts = 0;
      const bed = await bedOf(
        (errand) =>
          errand.tool('work', { task: 'always' }, async (_, task) => {
            await task.step(
              'stubborn',
              () => {
                if (++attempts < 4) throw new Error('not yet');
              },
              { retry: { attempts: 5, backoff: '10m', maxBackoff: '20m' } },
            );
            return `after ${attempts}`;
          }),
        t,
      );
      const id = await bed.client.begin('work');
      await bed.clock.settle();
      expect(attempts).toBe(1);
      await bed.errand.pause(id);
      await bed.clock.advance('5h');
      expect(attempts).toBe(1);
      await bed.errand.resume(id);
      await bed.clock.advance('2h');
      expect(await bed.client.read(id)).toMatchObject(cameTo('after 4'));
    });

    it('knows of a step that must not run twice whether it ran at all', async (t) => {
      let effects = 0;
      const bed = await bedOf(
        (errand, bed) =>
          errand.tool('work', { task: 'always' }, async (_, task) => {
            await task.step('before', () => bed().clock.sleep('1h'));
            await task.step('once', () => ++effects, { atMostOnce: true });
            return 'worked';
          }),
        t,
      );
      for (const when of ['30m', '1h'] as const) {
        effects = 0;
        const id = await bed.client.begin('work');
        const paused = bed.clock.advance(when).then(() => bed.errand.pause(id));
        if (when === '30m') {
          await paused;
          await bed.clock.advance('5h');
          await bed.errand.resume(id);
        }
        await bed.clock.advance('1h');
        await paused;
        await bed.errand.resume(id);
        await bed.clock.settle();
        expect(await bed.client.read(id)).toMatchObject(cameTo('worked'));
        expect(effects).toBe(1);
      }
    });

    it('is found paused wherever a pause meets it, and comes to the same when it goes on', async (t) => {
      let beyond: string[] = [];
      const paused = new Set<string>();
      const bed = await bedOf(
        (errand) =>
          errand.tool('work', { task: 'always' }, async (_, task) => {
            const step = (name: string) =>
              task.step(
                name,
                () => {
                  if (paused.has(task.id)) beyond.push(name);
                  return name;
                },
                { atMostOnce: name === 'c' },
              );
            const both = await Promise.all([step('a').then(() => step('b')), task.sleep(1), step('c')]);
            return [...both, await step('d')].join(' ');
          }),
        t,
      );
      for (let turns = 0; turns < 40; turns++) {
        beyond = [];
        const id = await bed.client.begin('work');
        for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
        const wasLive = await bed.errand.pause(id);
        if (wasLive) paused.add(id);
        await bed.clock.advance('1h');
        expect(beyond).toEqual([]);
        expect(isTerminal((await bed.errand.read(id))!)).toBe(!wasLive);
        paused.delete(id);
        await bed.errand.resume(id);
        await bed.clock.advance('1h');
        expect(await bed.client.read(id)).toMatchObject(cameTo('b  c d'));
      }
    });
  });

  describe('below a paused task', () => {
    const N = z.object({ depth: z.number() });

    /** Each task makes three others, two at once and one later, down to a depth. */
    function tree(errand: Errand, onEffect: () => void): unknown {
      return errand.tool('tree', { task: 'always', inputSchema: N }, async ({ depth }, task) => {
        await task.step('grow', onEffect);
        if (depth === 0) return '1';
        const grow = (key: string) => task.subtask(key, 'tree', { depth: depth - 1 });
        const both = [grow('a'), grow('b')];
        await task.sleep(1);
        const below = await Promise.all([...both, grow('c')]);
        return String(below.reduce((sum, result) => sum + Number(textOf(result)), 1));
      });
    }

    async function below(bed: TurnedBed, id: string): Promise<readonly Task[]> {
      const tasks = [...(await bed.disk.subtasks(id))];
      // Grows while it is walked.
      for (const task of tasks) tasks.push(...(await bed.disk.subtasks(task.id)));
      return tasks;
    }

    it('nothing runs, nor of what was being made at that moment, and all goes on with it', async (t) => {
      let isPaused = false;
      let beyond = 0;
      const bed = await turnedBed(openDisk(), (errand) => tree(errand, () => void (isPaused && beyond++)), t);
      for (let turns = 0; turns < 40; turns++) {
        const id = await bed.client.begin('tree', { depth: 1 });
        for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
        await bed.errand.pause(id, 'lunch');
        isPaused = true;
        await bed.clock.advance('1h');
        expect(beyond).toBe(0);
        for (const task of await below(bed, id)) {
          if (!isTerminal(task)) expect(task).toMatchObject({ paused: true, statusMessage: 'paused: lunch' });
        }
        isPaused = false;
        await bed.errand.resume(id);
        await bed.clock.advance('1h');
        expect(await bed.client.read(id)).toMatchObject(cameTo('4'));
      }
    });

    it('one that is paused alone holds up its task, and nobody else', async (t) => {
      const bed = await turnedBed(openDisk(), (errand) => tree(errand, () => undefined), t);
      const id = await bed.client.begin('tree', { depth: 1 });
      for (let turns = 0; (await bed.disk.subtasks(id)).length === 0; turns++) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      const child = (await bed.disk.subtasks(id))[0]!;
      await bed.errand.pause(child.id);
      await bed.clock.advance('1h');
      const subtasks = await bed.disk.subtasks(id);
      expect(subtasks.map(({ paused }) => paused)).toEqual([true, undefined, undefined]);
      expect(subtasks.map(({ status }) => status)).toEqual(['working', 'completed', 'completed']);
      expect((await bed.client.read(id))['status']).toBe('working');
      await bed.errand.resume(child.id);
      await bed.clock.settle();
      expect(await bed.client.read(id)).toMatchObject(cameTo('4'));
    });
  });
}
