import { describe, expect, it } from 'vitest';
import type { TaskContext } from '../../engine/context.ts';
import type { Errand } from '../../errand.ts';
import type { Disk } from './bed.suite.ts';
import { cameTo, turnedBed } from './turned.suite.ts';

/** A tool that does some work, and comes to what that gives. */
function tool(work: (task: TaskContext) => Promise<unknown>): (errand: Errand) => unknown {
  return (errand) =>
    errand.tool('work', { task: 'always', deadline: '30d' }, async (_, task) => JSON.stringify(await work(task)));
}

/** Takes so many messages, and records each, with what the outside world is told of it. */
async function take(task: TaskContext, count: number, effects: unknown[] = []): Promise<unknown[]> {
  const taken: unknown[] = [];
  for await (const message of task.steering()) {
    taken.push(message);
    await task.step('take', () => void effects.push(message));
    if (taken.length === count) break;
  }
  return taken;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** What a task is told on the way. */
export function steeringSuite(openDisk: () => Disk): void {
  describe('what a task is told', () => {
    it('reaches its handler once and in order, also what was said before it asked', async (t) => {
      const bed = await turnedBed(
        openDisk(),
        tool(async (task) => {
          await task.sleep('1h');
          return take(task, 4);
        }),
        t,
      );
      const id = await bed.client.begin('work');
      await Promise.all([bed.errand.steer(id, 'a'), bed.errand.steer(id, { b: [1, null] })]);
      await bed.clock.advance('2h');
      await bed.errand.steer(id, 'c');
      await bed.clock.advance('2h');
      expect(await bed.errand.steer(id, null)).toBe(true);
      await bed.clock.settle();
      expect(await bed.client.read(id)).toMatchObject(cameTo('["a",{"b":[1,null]},"c",null]'));
      expect(await bed.errand.steer(id, 'too late')).toBe(false);
    });

    it('wakes a run that was let go of, and finds it where it was', async (t) => {
      let runs = 0;
      const effects: unknown[] = [];
      const bed = await turnedBed(
        openDisk(),
        tool((task) => {
          runs++;
          return take(task, 3, effects);
        }),
        t,
      );
      const id = await bed.client.begin('work');
      for (const message of [1, 2, 3]) {
        await bed.clock.advance('1d');
        expect((await bed.disk.read(id))!).not.toHaveProperty('wakeAt');
        await bed.errand.steer(id, message);
        await bed.clock.settle();
      }
      expect(runs).toBe(4);
      expect(effects).toEqual([1, 2, 3]);
      expect(await bed.client.read(id)).toMatchObject(cameTo('[1,2,3]'));
    });

    it('is neither lost nor told twice wherever the server dies', async (t) => {
      const messages = ['a', 'b', 'c', 'd', 'e'];
      const taken: unknown[][] = [];
      const bed = await turnedBed(
        openDisk(),
        tool(async (task) => {
          const mine: unknown[] = [];
          taken.push(mine);
          for await (const message of task.steering()) {
            mine.push(message);
            await task.step('take', () => message);
            if (mine.length === messages.length) return mine;
          }
        }),
        t,
      );
      for (let turns = 0; turns < 24; turns++) {
        taken.length = 0;
        const id = await bed.client.begin('work');
        for (const message of messages) {
          expect(await bed.errand.steer(id, message)).toBe(true);
          for (let n = 0; n < turns; n++) await turn();
          await bed.restart();
        }
        await bed.clock.settle();
        expect(await bed.client.read(id)).toMatchObject(cameTo(JSON.stringify(messages)));
        // Also each run that died had them in order, without a gap.
        for (const mine of taken) expect(mine).toEqual(messages.slice(0, mine.length));
      }
    });

    it('comes at the same place among other things in every run', async (t) => {
      const bed = await turnedBed(
        openDisk(),
        tool(async (task) => {
          const lines: string[] = [];
          const hear = async (): Promise<void> => {
            for await (const message of task.steering()) lines.push(`told ${message as string}`);
          };
          void hear();
          for (let hour = 1; hour <= 4; hour++) {
            await task.sleep('1h');
            lines.push(`hour ${hour}`);
            const text = lines.join(', ');
            const recorded = await task.step('line', () => text);
            if (recorded !== text) lines.push(`diverged: ${recorded}`);
          }
          return lines;
        }),
        t,
      );
      const id = await bed.client.begin('work');
      await bed.clock.advance('90m');
      await bed.errand.steer(id, 'left');
      await bed.restart();
      await bed.clock.advance('1h');
      await bed.errand.steer(id, 'right');
      await bed.clock.settle();
      await bed.restart();
      await bed.clock.advance('2h');
      expect(await bed.client.read(id)).toMatchObject(
        cameTo('["hour 1","told left","hour 2","told right","hour 3","hour 4"]'),
      );
    });

    it('waits while the task is paused', async (t) => {
      const effects: unknown[] = [];
      const bed = await turnedBed(
        openDisk(),
        tool((task) => take(task, 2, effects)),
        t,
      );
      const id = await bed.client.begin('work');
      await bed.clock.settle();
      await bed.errand.pause(id);
      await bed.errand.steer(id, 'a');
      await bed.clock.advance('1h');
      await bed.errand.steer(id, 'b');
      await bed.clock.advance('1h');
      expect(effects).toEqual([]);
      await bed.errand.resume(id);
      await bed.clock.settle();
      expect(await bed.client.read(id)).toMatchObject(cameTo('["a","b"]'));
    });

    it('is the task’s own, not that of those below it', async (t) => {
      const bed = await turnedBed(
        openDisk(),
        (errand) => {
          tool(async (task) => {
            const below = task.subtask('below', 'listen');
            const mine = await take(task, 1);
            return [mine, (await below).content[0]!['text']];
          })(errand);
          errand.tool('listen', {}, async (_, task) => String(await take(task, 1)));
        },
        t,
      );
      const id = await bed.client.begin('work');
      await bed.clock.advance('1m');
      const [below] = await bed.disk.subtasks(id);
      await bed.errand.steer(id, 'above');
      await bed.clock.advance('1m');
      expect((await bed.disk.read(below!.id))!.status).toBe('working');
      await bed.errand.steer(below!.id, 'below');
      await bed.clock.settle();
      expect(await bed.client.read(id)).toMatchObject(cameTo('[["above"],"below"]'));
    });

    it('holds no task up that does not listen', async (t) => {
      const bed = await turnedBed(
        openDisk(),
        tool((task) => task.step('deaf', () => 'done')),
        t,
      );
      const id = await bed.client.begin('work');
      await bed.errand.steer(id, 'hello?');
      await bed.clock.settle();
      expect(await bed.client.read(id)).toMatchObject(cameTo('"done"'));
    });
  });
}
