import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../clock.ts';
import type { Store } from '../store.ts';
import { memory } from '../stores/memory.ts';
import type { Task } from '../task/task.ts';
import { created, finish } from '../task/transitions.ts';
import { startSweeper } from './sweeper.ts';

const LOG = pino({ level: 'silent' });
let store: Store;
let stop: () => void;

beforeEach(async () => {
  // Commits take real turns of the loop; only time is ours.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  store = memory();
  await store.open();
});

afterEach(async () => {
  stop();
  vi.useRealTimers();
  await store.close();
});

/** Lets time pass, ms by ms, and the work of each ms come to its end. */
async function pass(ms: number): Promise<void> {
  for (let i = 0; i < ms; i++) {
    vi.advanceTimersByTime(1);
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

async function make(deadlineMs: number, retentionMs = 1000): Promise<Task> {
  const task = created(
    {
      id: store.newId(),
      principal: 'local',
      tool: 'work',
      toolVersion: '1',
      arguments: {},
      seed: 's',
      capabilities: {},
      deadlineMs,
      retentionMs,
      pollIntervalMs: 1000,
    },
    store.now(),
  );
  return store.create(() => ({ task }));
}

const failedAt = async ({ id, createdAt }: Task): Promise<number | undefined> => {
  const task = await store.read(id);
  return task?.status === 'failed' ? task.lastUpdatedAt - createdAt : undefined;
};

describe('the sweeper', () => {
  it('ends a task within ms of a short deadline, and within a second of a long one', async () => {
    stop = startSweeper(store, systemClock, LOG);
    const short = await make(250);
    const long = await make(2500);
    await pass(249);
    expect(await failedAt(short)).toBeUndefined();
    await pass(3);
    expect(await failedAt(short)).toBe(250);
    await pass(2240);
    expect(await failedAt(long)).toBeUndefined();
    await pass(1010);
    expect(await failedAt(long)).toBeGreaterThanOrEqual(2500);
  });

  it('misses no deadline that passes while it sweeps', async () => {
    stop = startSweeper(store, systemClock, LOG);
    await pass(5);
    const task = await make(300);
    // The sweep that is under way has asked already what is overdue, and gets its answer late.
    const overdue = vi.spyOn(store, 'overdue');
    overdue.mockImplementationOnce(() => new Promise((resolve) => setTimeout(() => resolve([]), 5)));
    const other = await make(298);
    await pass(310);
    expect(await failedAt(task)).toBe(303);
    expect(await failedAt(other)).toBe(303);
  });

  it('says when a task failed, and why', async () => {
    stop = startSweeper(store, systemClock, LOG);
    const { id, deadlineAt } = await make(100);
    await pass(110);
    const message = `the deadline passed (${new Date(deadlineAt).toISOString()}) before the work ended`;
    expect(await store.read(id)).toMatchObject({
      status: 'failed',
      statusMessage: message,
      outcome: { kind: 'error', error: { code: -31010, message } },
    });
  });

  it('leaves a task alone that ended in time', async () => {
    stop = startSweeper(store, systemClock, LOG);
    const { id } = await make(100);
    const outcome = { kind: 'result', result: { content: [] } } as const;
    await pass(50);
    const ending = store.change(id, (task) => ({ task: finish(task, outcome, store.now()) }));
    await pass(100);
    expect(await ending).toMatchObject({ status: 'completed' });
    expect(await store.read(id)).toMatchObject({ status: 'completed', outcome });
  });

  it('removes what has outlived its retention, and never before', async () => {
    stop = startSweeper(store, systemClock, LOG);
    const task = await make(100, 1500);
    await pass(1595);
    expect(await store.read(task.id)).toBeDefined();
    await pass(1010);
    expect(await store.read(task.id)).toBeUndefined();
  });

  it('catches up at its start, however much there is', async () => {
    const tasks = await Promise.all(Array.from({ length: 1200 }, () => make(100, 100)));
    vi.setSystemTime(Date.now() + 150);
    stop = startSweeper(store, systemClock, LOG);
    await pass(5);
    for (const task of [tasks[0]!, tasks.at(-1)!]) expect(await failedAt(task)).toBeLessThan(160);
    vi.setSystemTime(Date.now() + 100);
    await pass(1010);
    expect(await store.read(tasks.at(-1)!.id)).toBeUndefined();
  });

  it('goes on after the store was away', async () => {
    stop = startSweeper(store, systemClock, LOG);
    await pass(5);
    const task = await make(2000);
    vi.spyOn(store, 'overdue').mockRejectedValueOnce(new Error('away')).mockRejectedValueOnce(new Error('away'));
    await pass(3020);
    expect(await failedAt(task)).toBeGreaterThanOrEqual(2000);
  });

  it('does nothing any more once it was stopped', async () => {
    stop = startSweeper(store, systemClock, LOG);
    const task = await make(100);
    stop();
    await pass(2000);
    expect(await failedAt(task)).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });
});
