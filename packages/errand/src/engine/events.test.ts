import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { taskOf } from '../../test/scripted-engine.ts';
import { systemClock } from '../clock.ts';
import type { Store } from '../store.ts';
import { memory } from '../stores/memory.ts';
import type { LoggedEvent, TaskEvent } from '../task/event.ts';
import type { Task } from '../task/task.ts';
import { cancelling } from './ending.ts';
import { followEvents, readEvents, type EventOptions } from './events.ts';
import { createWatch, type Watch } from './watching.ts';

let store: Store;
let watch: Watch;
let watching: number;
let task: Task;

beforeEach(async () => {
  store = memory();
  await store.open();
  watching = 0;
  const watchAll = createWatch(store, systemClock);
  watch = (...args) => {
    watching++;
    const stop = watchAll(...args);
    return () => {
      watching--;
      stop();
    };
  };
  const made = taskOf(store.newId(), { expiresAt: 1e15 });
  task = await store.create(() => ({ task: made }));
});

afterEach(() => store.close());

const log = (...events: LoggedEvent[]) => store.change(task.id, (task) => ({ task, events }));
const parked = (times: number): LoggedEvent[] => Array.from({ length: times }, () => ({ kind: 'parked' }));
const end = () => store.change(task.id, (task) => cancelling(task, store.now()));
const follow = (options: EventOptions = {}) => followEvents(store, watch, task.id, options);
const shown = (events: readonly TaskEvent[]) => events.map(({ seq, kind }) => `${seq} ${kind}`);

async function all(events: AsyncIterable<TaskEvent>): Promise<string[]> {
  const seen: TaskEvent[] = [];
  for await (const event of events) seen.push(event);
  return shown(seen);
}

describe('the log of a task', () => {
  it('begins with its creation and ends with its end, which are in its record', async () => {
    await log({ kind: 'parked' });
    const ended = await end();
    expect(await all(follow())).toEqual(['0 created', '1 parked', '2 cancel_asked', '3 ended']);
    const { events } = await readEvents(store, ended!, -1, 10);
    expect(events[0]).toEqual({ seq: 0, at: task.createdAt, kind: 'created', tool: 'work' });
    expect(events[3]).toEqual({ seq: 3, at: ended!.lastUpdatedAt, kind: 'ended', status: 'cancelled' });
  });

  it('is read page by page, each where the one before has ended', async () => {
    await log(...parked(3));
    const ended = (await end())!;
    const pages = [];
    for (let after = -1, page; page?.ended !== true; after = page.next) {
      page = await readEvents(store, ended, after, 2);
      pages.push([shown(page.events), page.next, page.ended]);
    }
    expect(pages).toEqual([
      [['0 created', '1 parked'], 1, false],
      [['2 parked', '3 parked'], 3, false],
      [['4 cancel_asked', '5 ended'], 5, true],
    ]);
    expect(await readEvents(store, ended, 5, 2)).toEqual({ events: [], next: 5, ended: true });
  });

  it('of a task that goes on has no end yet', async () => {
    expect(await readEvents(store, task, 0, 10)).toEqual({ events: [], next: 0, ended: false });
  });
});

describe('whoever follows a task', () => {
  it('hears what was, then what comes, until it has ended', async () => {
    await log(...parked(250));
    const seen: string[] = [];
    for await (const event of follow({ after: 200 })) {
      seen.push(...shown([event]));
      if (event.seq === 250) setTimeout(() => void log({ kind: 'resumed' }), 5);
      if (event.kind === 'resumed') setTimeout(() => void end(), 5);
    }
    expect(seen).toHaveLength(53);
    expect(seen.slice(-4)).toEqual(['250 parked', '251 resumed', '252 cancel_asked', '253 ended']);
    expect(watching).toBe(0);
  });

  it('misses nothing that comes while it is busy', async () => {
    const seen: string[] = [];
    for await (const event of follow()) {
      seen.push(event.kind);
      if (event.kind === 'created') await log({ kind: 'parked' });
      if (event.kind === 'parked') await end();
    }
    expect(seen).toEqual(['created', 'parked', 'cancel_asked', 'ended']);
  });

  it('leaves nothing behind when it stops early, or never begins', async () => {
    follow();
    for await (const event of follow()) {
      expect(event.kind).toBe('created');
      expect(watching).toBe(1);
      break;
    }
    expect(watching).toBe(0);
  });

  it('stops with the reason of its signal, also while it waits', async () => {
    const controller = new AbortController();
    const waiting = all(follow({ signal: controller.signal }));
    setTimeout(() => controller.abort(new Error('enough')), 5);
    await expect(waiting).rejects.toThrow('enough');
    await expect(all(follow({ signal: controller.signal }))).rejects.toThrow('enough');
    expect(watching).toBe(0);
  });

  it('hears that there is no such task', async () => {
    await expect(all(followEvents(store, watch, 'unknown', {}))).rejects.toMatchObject({ kind: 'taskNotFound' });
    expect(watching).toBe(0);
  });
});
