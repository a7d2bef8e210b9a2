import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { listenByOpenTelemetry } from '../../test/fixtures/telemetry.ts';
import { memory } from '../stores/memory.ts';
import { testErrand, virtualClock } from '../testing.ts';
import type { Store } from '../store.ts';

const told = listenByOpenTelemetry();
afterAll(() => told.stop());

/** Each test has tools of its own: what is measured under their names is its alone. */
const of = (tool: string) => ({ 'gen_ai.tool.name': tool });

describe('tasks', () => {
  it('are counted when they are made, and timed when they have ended, once each', async () => {
    const clock = virtualClock();
    const t = await testErrand({ clock }, (errand) => {
      errand.tool('ends', { task: 'always', deadline: '2d' }, async (_, task) => {
        await task.sleep('1d');
        return 'done';
      });
      errand.tool('plain', {}, () => 'done');
    });
    onTestFinished(() => t.close());
    const [first, second] = [await t.client.begin('ends'), await t.client.begin('ends')];
    await t.client.call('plain');
    await t.client.cancel(second);
    await clock.advance('1d');
    await t.client.until(first, 'completed');
    expect(await told.total('errand.tasks.created', of('ends'))).toBe(2);
    expect(await told.total('errand.tasks.created', of('plain'))).toBe(0);
    expect(await told.total('errand.task.duration', { ...of('ends'), 'errand.task.status': 'completed' })).toBe(1);
    expect(await told.total('errand.task.duration', { ...of('ends'), 'errand.task.status': 'cancelled' })).toBe(1);
    const day = (await told.points('errand.task.duration')).find(
      ({ attributes }) => attributes['errand.task.status'] === 'completed',
    );
    expect(day?.value).toMatchObject({ min: 86_400, max: 86_400 });
  });

  it('that live are counted by status, and those of which nothing is in memory', async () => {
    const clock = virtualClock();
    const t = await testErrand({ clock, concurrency: 1 }, (errand) => {
      errand.tool('asks', { task: 'always' }, async (_, task) => {
        await task.elicit('q', { message: 'Go on?', schema: z.object({}) });
        return 'done';
      });
      errand.tool('works', { task: 'always' }, (_, task) =>
        task.step('long', () => new Promise<string>(() => undefined)),
      );
    });
    onTestFinished(() => t.close());
    const asking = await t.client.begin('asks');
    await t.client.until(asking, 'input_required');
    await clock.advance('2s');
    await t.client.begin('works');
    await t.client.begin('works');
    await clock.settle();
    expect(await told.total('errand.tasks.live', { 'errand.task.status': 'input_required' })).toBe(1);
    expect(await told.total('errand.tasks.live', { 'errand.task.status': 'working' })).toBe(2);
    expect(await told.total('errand.tasks.parked')).toBe(1);
    expect(await told.total('errand.runs.active')).toBe(1);
    expect(await told.total('errand.runs.queued')).toBe(1);
  });
});

describe('runs and steps', () => {
  it('are timed by how they ended, and counted where they are tried again', async () => {
    const clock = virtualClock();
    const t = await testErrand({ clock }, (errand) =>
      errand.tool('flaky', { task: 'always', retry: { attempts: 2, backoff: '1h' } }, async (_, task) => {
        let tries = 0;
        await task.step(
          'twice',
          () => {
            if (++tries < 2) throw new Error('no');
          },
          { retry: { attempts: 3, backoff: '1s' } },
        );
        await task.step('never', () => Promise.reject(new RangeError('no')));
        return 'done';
      }),
    );
    onTestFinished(() => t.close());
    await t.client.until(await t.client.begin('flaky'), ['completed', 'failed']);
    expect(await told.total('errand.step.retries', of('flaky'))).toBe(1);
    expect(await told.total('errand.step.duration', { ...of('flaky'), 'error.type': 'RangeError' })).toBe(2);
    expect(await told.total('errand.step.duration', of('flaky'))).toBe(3);
    expect(await told.total('errand.run.retries', of('flaky'))).toBe(1);
    expect(await told.total('errand.run.duration', { ...of('flaky'), 'errand.run.end': 'ended' })).toBe(1);
    expect(await told.total('errand.run.duration', { ...of('flaky'), 'errand.run.end': 'parked' })).toBe(1);
  });
});

describe('requests', () => {
  it('are timed where they call a tool, and counted where they read a task', async () => {
    const t = await testErrand({}, (errand) => {
      errand.tool('timed', { task: 'always' }, () => 'done');
      errand.tool('refused', { withoutTasks: 'refuse' }, () => 'done');
    });
    onTestFinished(() => t.close());
    const polls = await told.total('errand.polls');
    const id = await t.client.begin('timed');
    await t.client.read(id);
    await t.client.read(id);
    await t.clientAs({ tasks: false }).request('tools/call', { name: 'refused', arguments: {} });
    expect(await told.total('errand.polls')).toBe(polls + 2);
    expect(await told.total('mcp.server.operation.duration', of('timed'))).toBe(1);
    expect(await told.total('mcp.server.operation.duration', { ...of('refused'), 'error.type': '-32021' })).toBe(1);
  });
});

describe('commits', () => {
  it('are timed, with how many commands shared them', async () => {
    const t = await testErrand({}, (errand) => errand.tool('kept', { task: 'always' }, () => 'done'));
    onTestFinished(() => t.close());
    const before = await told.total('errand.store.commit.duration');
    await Promise.all([t.client.begin('kept'), t.client.begin('kept'), t.client.begin('kept')]);
    expect(await told.total('errand.store.commit.duration')).toBeGreaterThan(before);
    const [size] = await told.points('errand.store.commit.size');
    expect((size?.value as { max: number }).max).toBeGreaterThanOrEqual(2);
  });
});

describe('a store', () => {
  it('that counts slowly is counted once at a time, and then left alone for long', async () => {
    const counting = counted(30);
    const t = await testErrand({ store: counting.store }, () => undefined);
    onTestFinished(() => t.close());
    const totals = await Promise.all([1, 2, 3].map(() => told.total('errand.tasks.live', WORKING)));
    expect(totals).toEqual([7, 7, 7]);
    await wait(1100); // longer than a quick one rests
    expect(await told.total('errand.tasks.live', WORKING)).toBe(7);
    expect(counting.counts()).toBe(1);
  });

  it('is counted again after a second, and not when its server has closed', async () => {
    const counting = counted(0);
    const t = await testErrand({ store: counting.store }, () => undefined);
    await told.points();
    await wait(1100);
    await told.points();
    expect(counting.counts()).toBe(2);
    await t.errand.close();
    await wait(1100);
    await told.points();
    expect(counting.counts()).toBe(2);
  });
});

const WORKING = { 'errand.task.status': 'working' };

/** A store that takes a while to count its tasks. */
function counted(ms: number): { readonly store: Store; counts(): number } {
  let counts = 0;
  async function liveCounts() {
    counts += 1;
    if (ms > 0) await wait(ms);
    return { working: 7, input_required: 0 };
  }
  return { store: Object.assign(memory(), { liveCounts }), counts: () => counts };
}
