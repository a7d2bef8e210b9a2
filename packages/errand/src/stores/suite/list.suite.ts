import { beforeEach, describe, expect, test } from 'vitest';
import type { ListOptions, Store } from '../../store.ts';
import type { Task } from '../../task/task.ts';
import { ask, cancel } from '../../task/transitions.ts';
import { subtaskOf } from './graph.suite.ts';
import { create, newTask, type Subject } from './subject.suite.ts';

export function list(subject: Subject): void {
  describe('list', () => {
    let store: Store;
    /** Made one after the other; every second one at the same time as the one before. */
    let tasks: Task[];
    beforeEach(async () => {
      store = subject.store;
      tasks = [];
      for (let made = 0; made < 7; made++) {
        if (made % 2 === 0) subject.time += 10;
        tasks.push(await create(store, newTask(store)));
      }
    });

    const listed = async (options: ListOptions, principal = 'local') =>
      (await store.list(principal, options)).map(({ id }) => tasks.findIndex((task) => task.id === id));

    test('gives the tasks of a principal, the latest first, as they are', async () => {
      await create(store, { ...newTask(store), principal: 'anonymous' });
      const changed = await store.change(tasks[3]!.id, (task) => ({ task: cancel(task, store.now() + 99) }));
      expect(await listed({ limit: 10 })).toEqual([6, 5, 4, 3, 2, 1, 0]);
      expect((await store.list('local', { limit: 10 }))[3]).toEqual(changed);
      expect(await store.list('nobody', { limit: 10 })).toEqual([]);
    });

    test('gives pages that fit together, though tasks are made meanwhile', async () => {
      expect(await listed({ limit: 3 })).toEqual([6, 5, 4]);
      await create(store, newTask(store));
      expect(await listed({ limit: 3, after: tasks[4]!.id })).toEqual([3, 2, 1]);
      expect(await listed({ limit: 3, after: tasks[1]!.id })).toEqual([0]);
      expect(await listed({ limit: 3, after: tasks[0]!.id })).toEqual([]);
    });

    test('begins anew after a task that is unknown, or another’s', async () => {
      const foreign = await create(store, { ...newTask(store), principal: 'anonymous' });
      for (const after of ['unknown', store.newId(), foreign.id]) {
        expect(await listed({ limit: 2, after })).toEqual([6, 5]);
      }
    });

    test('gives only the statuses that are asked for', async () => {
      for (const index of [1, 4]) await store.change(tasks[index]!.id, (task) => ({ task: cancel(task, store.now()) }));
      await store.change(tasks[2]!.id, (task) => ({
        task: ask(task, 'go', { method: 'roots/list', params: {} }, store.now()),
      }));
      expect(await listed({ limit: 10, statuses: ['cancelled'] })).toEqual([4, 1]);
      expect(await listed({ limit: 10, statuses: ['input_required', 'cancelled'] })).toEqual([4, 2, 1]);
      expect(await listed({ limit: 2, statuses: ['working'], after: tasks[4]!.id })).toEqual([3, 0]);
      expect(await listed({ limit: 10, statuses: ['failed'] })).toEqual([]);
      expect(await listed({ limit: 10, statuses: [] })).toEqual([]);
    });

    test('leaves subtasks out', async () => {
      const subtask = subtaskOf(store, tasks[6]!, 'a');
      await store.change(tasks[6]!.id, (task) => ({ task, subtasks: [subtask] }));
      expect(await listed({ limit: 2 })).toEqual([6, 5]);
      expect(await listed({ limit: 2, after: subtask.id })).toEqual([6, 5]);
    });
  });
}
