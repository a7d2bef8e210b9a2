import { describe, expect, test } from 'vitest';
import type { StoreCommit } from '../../store.ts';
import { ask, finish } from '../../task/transitions.ts';
import { newTask, type Subject } from './subject.suite.ts';

const DONE = { kind: 'result', result: { content: [] } } as const;

/** What a store tells of itself, for metrics. */
export function measures(subject: Subject): void {
  describe('measures', () => {
    test('live tasks are counted by status, those of handlers too, and ended ones are not', async () => {
      const { store } = subject;
      expect(await store.liveCounts!()).toEqual({ working: 0, input_required: 0 });
      const [asking, ended, parent] = [newTask(store), newTask(store), newTask(store)];
      const child = { ...newTask(store), parent: { id: parent.id, root: parent.id, key: 'k', path: 'k' } };
      await Promise.all([asking, ended].map((task) => store.create(() => ({ task }))));
      await store.create(() => ({ task: parent, subtasks: [child] }));
      const request = { method: 'elicitation/create', params: {} } as never;
      await store.change(asking.id, (task) => ({ task: ask(task, 'q', request, store.now()) }));
      await store.change(ended.id, (task) => ({ task: finish(task, DONE, store.now()) }));
      expect(await store.liveCounts!()).toEqual({ working: 2, input_required: 1 });
      await store.change(asking.id, (task) => ({ task: finish(task, DONE, store.now()) }));
      expect(await store.liveCounts!()).toEqual({ working: 2, input_required: 0 });
    });

    test('a command that failed counts for nothing', async () => {
      const { store } = subject;
      const task = newTask(store);
      await store.create(() => ({ task }));
      const refused = store.change(task.id, (current) => ({ task: { ...finish(current, DONE, 0), tool: 'other' } }));
      await expect(refused).rejects.toThrow(TypeError);
      expect(await store.liveCounts!()).toEqual({ working: 1, input_required: 0 });
    });

    test('each commit is measured, with how many commands shared it, until nobody listens', async () => {
      const { store } = subject;
      const commits: StoreCommit[] = [];
      const stop = store.onCommit!((commit) => commits.push(commit));
      const create = () => {
        const task = newTask(store);
        return store.create(() => ({ task }));
      };
      // Ids are made many at a time, which takes a commit of the store's own.
      await create();
      commits.length = 0;
      await Promise.all([create(), create(), create()]);
      await create();
      expect(commits).toEqual([
        { ms: expect.any(Number), commands: 3, failed: false },
        { ms: expect.any(Number), commands: 1, failed: false },
      ]);
      stop();
      await create();
      expect(commits).toHaveLength(2);
    });
  });
}
