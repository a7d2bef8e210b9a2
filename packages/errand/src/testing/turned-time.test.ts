import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { memory } from '../stores/memory.ts';
import { testErrand } from './test-errand.ts';
import { text, up } from './up.suite.ts';
import { virtualClock, type VirtualClock } from './virtual-clock.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const GO = z.object({ go: z.boolean() });
const YES = { action: 'accept', content: { go: true } };

let clock: VirtualClock;
let began: number;

beforeEach(() => {
  clock = virtualClock();
  began = performance.now();
});

afterEach(() => {
  // A month takes what happens in it takes: some 10 ms, and more on a busy machine.
  expect(performance.now() - began).toBeLessThan(2000);
});

describe('time that a test turns', () => {
  it('lets a handler sleep for a month', async () => {
    const t = await up(
      (errand) =>
        errand.tool('remind', { task: 'always', deadline: '60d' }, async (_, task) => {
          const from = task.now();
          await task.sleep('30d');
          return `slept ${(task.now() - from) / DAY} days`;
        }),
      { clock },
    );
    const id = await t.client.begin('remind');
    await clock.advance(30 * DAY - 1);
    expect(await t.client.read(id)).toMatchObject({ status: 'working' });
    await clock.advance(1);
    expect(await t.client.read(id)).toMatchObject(text('slept 30 days'));
  });

  it('stops at each sleep of many tasks, in the order in which they end', async () => {
    const woken: string[] = [];
    const t = await up(
      (errand) =>
        errand.tool('nap', { task: 'always', deadline: '1000d' }, async ({ name, days }, task) => {
          for (let nap = 1; nap <= 10; nap++) {
            await task.sleep(Number(days) * DAY);
            await task.step('wake', () => woken.push(`${name as string}${nap} on ${clock.elapsed() / DAY}`));
          }
          return 'rested';
        }),
      { clock },
    );
    const ids = [];
    for (const [name, days] of Object.entries({ a: 3, b: 7, c: 8 }))
      ids.push(await t.client.begin('nap', { name, days }));
    await clock.advance('20d');
    expect(woken.join()).toBe('a1 on 3,a2 on 6,b1 on 7,c1 on 8,a3 on 9,a4 on 12,b2 on 14,a5 on 15,c2 on 16,a6 on 18');
    await clock.advance('60d');
    for (const id of ids) expect(await t.client.read(id)).toMatchObject(text('rested'));
  });

  it('ends tasks at their deadline, and forgets them when their retention is over', async () => {
    const store = memory({ clock: clock.now });
    const aborted: number[] = [];
    const t = await up(
      (errand) =>
        errand.tool('work', { task: 'always', deadline: '2d', retention: '7d' }, async (_, task) =>
          task.step('work', async ({ signal }) => {
            signal.addEventListener('abort', () => aborted.push(clock.elapsed()));
            await clock.sleep('3d');
            return 'too late';
          }),
        ),
      { clock, store },
    );
    const id = await t.client.begin('work');
    await clock.advance(2 * DAY - 1);
    expect(await t.client.read(id)).toMatchObject({ status: 'working', ttlMs: 9 * DAY });
    await clock.advance(1);
    expect(await t.client.read(id)).toMatchObject({ status: 'failed', error: { code: -31010 } });
    expect(aborted).toEqual([2 * DAY]);
    await clock.advance(7 * DAY - 1);
    expect(await t.client.read(id)).toMatchObject({ status: 'failed' });
    await clock.advance(1);
    await expect(t.client.read(id)).rejects.toMatchObject({ code: -32602 });
    expect(await store.read(id)).toBeUndefined();
  });

  it('runs out for a question, and not for one that is answered before', async () => {
    const t = await up(
      (errand) =>
        errand.tool('ask', { task: 'always', deadline: '30d' }, async (_, task) => {
          const ask = (key: string) => task.elicit(key, { message: 'Go?', schema: GO, timeout: '7d' });
          const { action } = await ask('first');
          return ask('second').catch((error: Error) => `${action}, then ${error.name}`) as Promise<string>;
        }),
      { clock },
    );
    const id = await t.client.begin('ask');
    await clock.advance('6d');
    await t.client.answer(id, { first: YES });
    await clock.advance(7 * DAY - 1);
    expect(await t.client.read(id)).toMatchObject({ status: 'input_required', inputRequests: { second: {} } });
    await clock.advance(1);
    expect(await t.client.read(id)).toMatchObject(text('accept, then InputTimeout'));
  });

  it('passes between the attempts of a step, over hours', async () => {
    const at: number[] = [];
    const t = await up(
      (errand) =>
        errand.tool('flaky', { task: 'always' }, async (_, task) =>
          task.step(
            'call',
            ({ attempt }) => {
              at.push(clock.elapsed());
              if (attempt < 4) throw new Error('down');
              return `up at ${attempt}`;
            },
            { retry: { attempts: 5, backoff: '1h', maxBackoff: '3h' } },
          ),
        ),
      { clock },
    );
    const id = await t.client.begin('flaky');
    await clock.advance('59m');
    expect(at).toEqual([0]);
    await clock.advance('9h');
    expect(await t.client.read(id)).toMatchObject(text('up at 4'));
    const waits = at.slice(1).map((time, index) => time - at[index]!);
    expect(waits[0]).toBeGreaterThanOrEqual(HOUR);
    expect(waits[0]).toBeLessThanOrEqual(2 * HOUR);
    expect(waits[1]).toBeGreaterThanOrEqual(2 * HOUR);
    expect(waits[2]).toBe(3 * HOUR);
  });

  it('limits what an attempt of a step may take', async () => {
    const t = await up(
      (errand) =>
        errand.tool('slow', { task: 'always' }, async (_, task) =>
          task
            .step('work', ({ attempt }) => clock.sleep(attempt === 1 ? '5h' : '1h'), {
              timeout: '2h',
              retry: { attempts: 2, backoff: '1h', maxBackoff: '1h' },
            })
            .then(() => `done at ${clock.elapsed() / HOUR}`),
        ),
      { clock },
    );
    const id = await t.client.begin('slow');
    await clock.advance('4h');
    expect(await t.client.read(id)).toMatchObject(text('done at 4'));
  });

  it('runs out for a call that is answered by a task then, and holds one that takes no tasks', async () => {
    const t = await up(
      (errand) =>
        errand.tool('work', { patience: '10s', deadline: '2d', holdFor: Infinity }, async (_, task) => {
          await task.step('work', () => clock.sleep('1d'));
          return `after ${clock.elapsed() / DAY}`;
        }),
      { clock },
    );
    const [call, held] = [t.client.call('work'), t.clientAs({ tasks: false }).call('work')];
    let answered = false;
    void call.then(() => (answered = true));
    await clock.advance(9999);
    expect(answered).toBe(false);
    await clock.advance(1);
    expect(await call).toMatchObject({ resultType: 'task' });
    await clock.advance('1d');
    expect(await held).toMatchObject({ content: [{ text: 'after 1' }] });
    expect(await t.client.read((await call)['taskId'] as string)).toMatchObject(text('after 1'));
  });

  it('does not go on while an effect takes real time', async () => {
    const t = await up(
      (errand) =>
        errand.tool('mixed', { task: 'always', deadline: '60d' }, async (_, task) => {
          for (let day = 0; day < 3; day++) {
            await task.sleep('1d');
            await task.step('real', () => new Promise((resolve) => setTimeout(resolve, 5)));
          }
          return `day ${clock.elapsed() / DAY}`;
        }),
      { clock },
    );
    const id = await t.client.begin('mixed');
    await clock.advance('30d');
    expect(await t.client.read(id)).toMatchObject(text('day 3'));
  });

  it('goes on past an effect that waits for the test', async () => {
    let open!: (value: string) => void;
    const gate = new Promise<string>((resolve) => (open = resolve));
    const t = await up(
      (errand) => {
        errand.tool('gated', { task: 'always' }, async (_, task) => task.step('wait', () => gate));
        errand.tool('nap', { task: 'always' }, async (_, task) => (await task.sleep('2h'), 'rested'));
      },
      { clock },
    );
    const [gated, nap] = [await t.client.begin('gated'), await t.client.begin('nap')];
    await clock.advance('2h');
    expect(await t.client.read(nap)).toMatchObject(text('rested'));
    open('opened');
    await clock.settle();
    expect(await t.client.read(gated)).toMatchObject(text('opened'));
  });

  it('passes while a call is held that a client sees through', async () => {
    const t = await up(
      (errand) => {
        errand.tool('work', {}, async (_, task) => {
          await task.step('work', () => clock.sleep('10s'));
          return 'worked';
        });
        errand.tool('flaky', {}, async (_, task) => {
          const retry = { attempts: 3, backoff: '10s' } as const;
          return task.step(
            'call',
            ({ attempt }) => {
              if (attempt < 3) throw new Error('down');
              return `up at ${attempt}`;
            },
            { retry },
          );
        });
      },
      { clock },
    );
    const held = t.clientAs({ tasks: false });
    expect(await t.client.run('work')).toMatchObject({ content: [{ text: 'worked' }] });
    expect(await held.run('work')).toMatchObject({ content: [{ text: 'worked' }] });
    expect(await t.client.run('flaky')).toMatchObject({ content: [{ text: 'up at 3' }] });
  });

  it('does not come to a deadline while an effect takes real time, be it for longer than a moment', async () => {
    const t = await up(
      (errand) =>
        errand.tool('mixed', { task: 'always' }, async (_, task) => {
          await task.step('real', () => new Promise((resolve) => setTimeout(resolve, 200)));
          await task.sleep('1h');
          return `at ${clock.elapsed() / HOUR}`;
        }),
      { clock },
    );
    expect(await t.client.run('mixed')).toMatchObject({ content: [{ text: 'at 1' }] });
  });

  it('says so where a deadline passed since an effect took longer than the clock stands still', async () => {
    clock = virtualClock({ patience: '20ms' });
    const t = await up(
      (errand) =>
        errand.tool('stuck', { task: 'always' }, async (_, task) =>
          task.step('real', () => new Promise<string>(() => {})),
        ),
      { clock },
    );
    await expect(t.client.run('stuck')).rejects.toThrow(/-31010.*virtualClock\({ patience }\)/);
    expect(clock.overtook()).toBeGreaterThan(0);
  });

  it('passes while a client waits, as far as it takes', async () => {
    const t = await up(
      (errand) =>
        errand.tool('plan', { task: 'always', deadline: '1000d' }, async (_, task) => {
          await task.sleep('100d');
          await task.elicit('go', { message: 'Go?', schema: GO });
          await task.sleep('200d');
          return 'gone';
        }),
      { clock },
    );
    expect(await t.client.run('plan', {}, { go: YES })).toMatchObject({ content: [{ text: 'gone' }] });
    expect(clock.elapsed()).toBe(300 * DAY);
    const id = await t.client.begin('plan');
    expect(await t.client.until(id, 'input_required')).toMatchObject({ inputRequests: { go: {} } });
    expect(clock.elapsed()).toBe(400 * DAY);
    // Nobody answers, so the deadline is what time brings.
    await expect(t.client.until(id, 'completed')).rejects.toThrow(/not completed.*-31010/);
  });

  it('stops for each of many tasks, at a time of its own', async () => {
    const t = await up(
      (errand) =>
        errand.tool('nap', { task: 'always', deadline: '2d' }, async ({ ms }, task) => {
          await task.sleep(Number(ms));
          return `woke at ${clock.elapsed()}`;
        }),
      { clock },
    );
    const ids: string[] = [];
    for (let nap = 0; nap < 50; nap++) ids.push(await t.client.begin('nap', { ms: DAY + nap }));
    await clock.advance('2d');
    for (const [nap, id] of ids.entries()) expect(await t.client.read(id)).toMatchObject(text(`woke at ${DAY + nap}`));
  });

  it('must be the time of the store too', async () => {
    await expect(testErrand({ clock, store: memory() }, () => undefined)).rejects.toThrow(
      'the store has another clock',
    );
  });
});
