import { expect, it } from 'vitest';
import { systemClock } from '../clock.ts';
import type { Store } from '../store.ts';
import { memory } from '../stores/memory.ts';
import { newTask, settled } from '../stores/suite/subject.suite.ts';
import type { Task } from '../task/task.ts';
import { createWatch } from './watching.ts';

/** A store with which another process, which `elsewhere` plays, commits without telling. */
async function shared() {
  const store = memory();
  await store.open();
  const tasks = new Map<string, Task>();
  const listeners = new Set<() => void>();
  const seen: Store = Object.assign(Object.create(store) as Store, {
    subscribe: store.subscribe.bind(store),
    create: store.create.bind(store),
    change: store.change.bind(store),
    read: async (id: string) => tasks.get(id) ?? (await store.read(id)),
    onForeignCommit(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  });
  return {
    store: seen,
    task: newTask(store),
    elsewhere(task: Task) {
      tasks.set(task.id, task);
      for (const listener of listeners) listener();
    },
    listeners,
  };
}

it('tells what this process and another one committed, each state once', async () => {
  const { store, task, elsewhere } = await shared();
  const versions: number[] = [];
  createWatch(store, systemClock)(task.id, ({ version }) => versions.push(version));
  await store.create(() => ({ task }));
  await settled();
  elsewhere({ ...task, version: 2 });
  await expect.poll(() => versions).toEqual([1, 2]);
  elsewhere({ ...task, version: 2 });
  elsewhere({ ...task, version: 3 });
  await expect.poll(() => versions).toEqual([1, 2, 3]);
});

it('never goes back: what was read overtakes what was committed before', async () => {
  const { store, task, elsewhere } = await shared();
  const versions: number[] = [];
  createWatch(store, systemClock)(task.id, ({ version }) => versions.push(version));
  const created = store.create(() => ({ task })).then(() => elsewhere({ ...task, version: 2 }));
  await created;
  await settled();
  await expect.poll(() => versions).toEqual([2]);
});

it('looks for commits of others only while somebody watches', async () => {
  const { store, task, listeners } = await shared();
  const watch = createWatch(store, systemClock);
  expect(listeners.size).toBe(0);
  const stops = [watch(task.id, () => undefined), watch(task.id, () => undefined), watch('other', () => undefined)];
  for (const stop of stops) {
    expect(listeners.size).toBe(1);
    stop();
    stop();
  }
  expect(listeners.size).toBe(0);
});
