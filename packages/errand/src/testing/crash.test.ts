import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import type { StepContext } from '../engine/context.ts';
import { StepUnknown } from '../engine/failures.ts';
import type { Store } from '../store.ts';
import { memory } from '../stores/memory.ts';
import { sqlite } from '../stores/sqlite.ts';
import type { Define } from './test-errand.ts';
import { text, up } from './up.suite.ts';
import { virtualClock, type VirtualClock } from './virtual-clock.ts';

const GO = z.object({ go: z.boolean() });
const YES = { action: 'accept', content: { go: true } };

let clock: VirtualClock;

beforeEach(() => {
  clock = virtualClock();
});

describe('a crash', () => {
  it('between steps keeps what was recorded, and runs the rest', async () => {
    const effects: string[] = [];
    const t = await up(
      (errand) =>
        errand.tool('order', { task: 'always', deadline: '60d' }, async (_, task) => {
          await task.step('reserve', () => effects.push('reserve'));
          await task.sleep('1d');
          await task.step('ship', () => effects.push('ship'));
          return 'shipped';
        }),
      { clock },
    );
    const id = await t.client.begin('order');
    await clock.advance('1h');
    expect(effects).toEqual(['reserve']);
    await t.crash();
    await clock.advance('10d'); // nobody is there to notice
    expect(effects).toEqual(['reserve']);
    await t.restart();
    await clock.settle();
    expect(effects).toEqual(['reserve', 'ship']);
    expect(await t.client.read(id)).toMatchObject(text('shipped'));
  });

  it('in the middle of a step lets the effect end unheard, and run again', async () => {
    const effects: string[] = [];
    const keys = new Set<string>();
    let life = 'first';
    const t = await up(
      (errand) =>
        errand.tool('pay', { task: 'always' }, async (_, task) => {
          const charge = async ({ key, signal }: StepContext): Promise<string> => {
            const mine = life;
            keys.add(key);
            effects.push(`${mine} begins`);
            signal.addEventListener('abort', () => effects.push(`${mine} is told`));
            await clock.sleep('1h');
            effects.push(`${mine} ends`);
            return mine;
          };
          const paid = await task.step('charge', charge);
          effects.push(`handler hears of the ${paid}`);
          return paid;
        }),
      { clock },
    );
    const id = await t.client.begin('pay');
    await clock.advance('30m');
    await t.crash();
    life = 'second';
    await t.restart();
    await clock.advance('31m');
    expect(effects).toEqual(['first begins', 'second begins', 'first ends']);
    expect(await t.client.read(id)).toMatchObject({ status: 'working' });
    await clock.advance('29m');
    expect(effects.slice(3)).toEqual(['second ends', 'handler hears of the second']);
    expect(await t.client.read(id)).toMatchObject(text('second'));
    expect(keys.size).toBe(1);
  });

  it('in the middle of an atMostOnce step leaves its outcome unknown', async () => {
    let charges = 0;
    const t = await up(
      (errand) =>
        errand.tool('pay', { task: 'always' }, async (_, task) => {
          try {
            await task.step('charge', () => (charges++, clock.sleep('1h')), { atMostOnce: true });
            return 'paid';
          } catch (error) {
            if (error instanceof StepUnknown) return 'ask the bank';
            throw error;
          }
        }),
      { clock },
    );
    const id = await t.client.begin('pay');
    await clock.settle();
    expect(charges).toBe(1);
    await t.restart();
    expect(await t.client.until(id, 'completed')).toMatchObject(text('ask the bank'));
    expect(charges).toBe(1);
  });

  it('stops handlers, also where they take no notice of it', async () => {
    const effects: string[] = [];
    const t = await up(
      (errand) => {
        errand.tool('kept', { task: 'always', deadline: '60d' }, async (_, task) => {
          await clock.sleep('1h'); // by itself, where a step should be
          await task.step('late', () => effects.push('late step'));
          return 'done';
        });
        // Its journal is in memory: no store keeps it from going on.
        errand.tool('quick', { patience: '1d' }, async (_, task) => {
          for (let hour = 1; hour <= 3; hour++)
            await task.step('tick', () => (effects.push(`tick ${hour}`), clock.sleep('1h')));
          return 'done';
        });
      },
      { clock },
    );
    const id = await t.client.begin('kept');
    const call = t.client.call('quick');
    call.catch(() => undefined);
    await clock.advance('30m');
    await t.crash();
    await clock.advance('1d');
    expect(effects).toEqual(['tick 1']);
    await expect(call).rejects.toThrow('the errand crashed');
    await t.restart();
    await clock.advance('1h');
    expect(effects).toEqual(['tick 1', 'late step']);
    expect(await t.client.read(id)).toMatchObject(text('done'));
  });

  it('takes along what is not committed, and nothing else', async () => {
    const define: Define = (errand) =>
      errand.tool('count', { task: 'always' }, async (_, task) => {
        for (let step = 0; step < 5; step++) await task.step('count', () => step);
        return 'counted';
      });
    const entries = new Set<number>();
    let answeredEarly = 0;
    for (let turns = 0; turns < 40; turns++) {
      const store = memory({ clock: clock.now });
      const t = await up(define, { clock, store });
      let id: string | undefined;
      const call = t.client.begin('count').then(
        (taskId) => (id = taskId),
        () => undefined,
      );
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      await t.crash();
      await call;
      await store.open();
      const [due] = await store.due(-1, Number.MAX_SAFE_INTEGER);
      // What was answered is there. What was not may be there, but then it runs.
      if (id !== undefined) answeredEarly++;
      const known = id ?? due?.id;
      const journal = known === undefined ? [] : await store.journal(known);
      const before = known === undefined ? undefined : await store.read(known);
      expect(before === undefined && id !== undefined).toBe(false);
      entries.add(journal.length);
      // Nothing of the dead one comes after.
      await clock.settle();
      if (known !== undefined) {
        expect(await store.read(known)).toEqual(before);
        expect(await store.journal(known)).toEqual(journal);
      }
      await t.restart();
      if (known !== undefined) expect(await t.client.until(known, 'completed')).toMatchObject(text('counted'));
    }
    expect(answeredEarly).toBeGreaterThan(5);
    expect(entries.size).toBeGreaterThan(4);
  });

  it('refuses clients until there is a new errand, which the same client talks to', async () => {
    const t = await up((errand) => errand.tool('hello', {}, () => 'hello'), { clock });
    await t.crash();
    await expect(t.client.call('hello')).rejects.toThrow('the errand is down');
    expect(() => t.errand).toThrow('the errand is down');
    await t.restart();
    expect(await t.client.call('hello')).toMatchObject({ content: [{ text: 'hello' }] });
  });

  it('of what had been closed in good order is none', async () => {
    const t = await up(
      (errand) => errand.tool('nap', { task: 'always' }, async (_, task) => (await task.sleep('2h'), 'rested')),
      { clock },
    );
    const id = await t.client.begin('nap');
    await clock.settle();
    await t.errand.close();
    await t.restart();
    await clock.advance('2h');
    expect(await t.client.read(id)).toMatchObject(text('rested'));
  });

  it('is survived by what clients carry from call to call', async () => {
    const t = await up(
      (errand) =>
        errand.tool('ask', {}, async (_, task) => (await task.elicit('go', { message: 'Go?', schema: GO })).action),
      { clock },
    );
    const plain = t.clientAs({ tasks: false });
    const { requestState } = await plain.call('ask');
    await t.restart();
    expect(await plain.call('ask', {}, { requestState: requestState!, inputResponses: { go: YES } })).toMatchObject({
      content: [{ text: 'accept' }],
    });
  });
});

describe('a restart with other code', () => {
  const deploy =
    (name: string, steps: readonly string[]): Define =>
    (errand) =>
      errand.tool('work', { task: 'always', deadline: '60d' }, async (_, task) => {
        for (const step of steps) await task.step(step, () => step);
        await task.sleep('1d');
        return `done by ${name}`;
      });

  it('goes on with code that fits', async () => {
    const t = await up(deploy('old', ['a']), { clock });
    const id = await t.client.begin('work');
    await clock.settle();
    await t.restart(deploy('new', ['a']));
    await clock.advance('1d');
    expect(await t.client.read(id)).toMatchObject(text('done by new'));
  });

  it('holds what does not fit, until code comes that does', async () => {
    const t = await up(deploy('old', ['a', 'b']), { clock });
    const id = await t.client.begin('work');
    await clock.advance('1h');
    await t.restart(deploy('wrong', ['b', 'a']));
    await clock.advance('2d');
    expect(await t.client.read(id)).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('the code no longer fits') as string,
    });
    await t.restart(deploy('right', ['a', 'b']));
    await clock.settle();
    expect(await t.client.read(id)).toMatchObject(text('done by right'));
  });
});

describe('over a SQLite file', () => {
  it('time and crashes are the same, also for tasks that another test left there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'errand-testing-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const store = (): Store => sqlite(join(folder, 'tasks.db'), { clock: clock.now });
    const effects: string[] = [];
    const define: Define = (errand) =>
      errand.tool('order', { task: 'always', deadline: '60d', retention: '1d' }, async (_, task) => {
        await task.step('reserve', () => effects.push('reserve'));
        await task.sleep('20d');
        await task.step('ship', () => (effects.push('ship'), clock.sleep('1h')));
        return `shipped on day ${clock.elapsed() / 86_400_000}`;
      });
    const first = await up(define, { clock, store: store() });
    const id = await first.client.begin('order');
    const late = await first.client.begin('order');
    await clock.advance('1d');
    await first.close();
    const second = await up(define, { clock, store: store() });
    await clock.advance('19d');
    expect(effects).toEqual(['reserve', 'reserve', 'ship', 'ship']);
    await second.client.cancel(late);
    await second.restart();
    await clock.advance('1h');
    expect(await second.client.read(id)).toMatchObject(text(`shipped on day ${20 + 1 / 24}`));
    expect(effects.slice(4)).toEqual(['ship']);
    await clock.advance(60 * 86_400_000);
    await expect(second.client.read(id)).rejects.toMatchObject({ code: -32602 });
  });
});

describe('without a virtual clock', () => {
  it('time is real, and crashes are the same', async () => {
    let effects = 0;
    const define: Define = (errand) =>
      errand.tool('nap', { task: 'always' }, async (_, task) => {
        await task.step('count', () => ++effects);
        await task.sleep('150ms');
        return 'rested';
      });
    const t = await up(define, {});
    const id = await t.client.begin('nap');
    await new Promise((resolve) => setTimeout(resolve, 50));
    await t.restart();
    expect(await t.client.until(id, 'completed')).toMatchObject(text('rested'));
    expect(effects).toBe(1);
  });
});
