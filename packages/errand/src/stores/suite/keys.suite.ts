import { beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../store.ts';
import type { Task } from '../../task/task.ts';
import { cancel } from '../../task/transitions.ts';
import { begin, create, listen, newTask, settled, type Subject } from './subject.suite.ts';

export function keys(subject: Subject): void {
  describe('idempotency keys', () => {
    let store: Store;
    beforeEach(() => {
      store = subject.store;
    });

    const keyed = (key = 'once', more: Partial<Task> = {}): Task => ({
      ...newTask(store),
      idempotency: { key, digest: 'd' },
      ...more,
    });

    test('make one task however often it is asked for, also in one commit, and after its end', async () => {
      const [first, second, third] = [keyed(), keyed(), keyed()];
      const made = await Promise.all([create(store, first, [begin(0, 'a')]), create(store, second)]);
      expect(made).toEqual([first, first]);
      await settled();
      const heard = listen(store);
      const ended = await store.change(first.id, (task) => ({ task: cancel(task, store.now()) }));
      expect(await create(store, third)).toEqual(ended);
      await settled();
      expect(heard).toEqual([ended]);
      for (const { id } of [second, third]) expect(await store.read(id)).toBeUndefined();
      expect(await store.journal(first.id)).toHaveLength(1);
    });

    test('find the task as it is, for its principal and tool alone, until its time is over', async () => {
      const first = keyed('once', { principal: 'anonymous' });
      const of = ['anonymous', first.tool, 'once'] as const;
      expect(await store.keyed(...of)).toBeUndefined();
      await create(store, first);
      const ended = await store.change(first.id, (task) => ({ task: cancel(task, store.now()) }));
      expect(await store.keyed(...of)).toEqual(ended);
      expect(await store.keyed('other', first.tool, 'once')).toBeUndefined();
      expect(await store.keyed('anonymous', 'other', 'once')).toBeUndefined();
      expect(await store.keyed('anonymous', first.tool, 'twice')).toBeUndefined();
      subject.time = ended!.expiresAt;
      expect(await store.keyed(...of)).toBeUndefined();
    });

    test('are each principal’s own, and each tool’s', async () => {
      const tasks = [
        keyed(),
        keyed('once', { principal: 'anonymous' }),
        keyed('once', { tool: 'other' }),
        keyed('twice'),
      ];
      for (const task of tasks) expect(await create(store, task)).toEqual(task);
      for (const task of tasks) expect(await store.read(task.id)).toEqual(task);
    });

    test('last as long as their task', async () => {
      const first = await create(store, keyed());
      await store.expire(first.expiresAt, 10);
      const second = keyed();
      expect(await create(store, second)).toEqual(second);
      // One whose time has come may vanish at any moment: a client could not count on it.
      subject.time = second.expiresAt;
      const third = keyed();
      expect(await create(store, third)).toEqual(third);
      expect(await store.read(second.id)).toBeUndefined();
    });

    test('cannot be taken twice by subtasks', async () => {
      const first = await create(store, keyed());
      const parent = await create(store, newTask(store));
      const subtask = keyed('once', { parent: { id: parent.id, root: parent.id, key: 'a', path: 'a' } });
      const change = store.change(parent.id, (task) => ({ task, subtasks: [subtask] }));
      await expect(change).rejects.toThrow('key');
      expect(await store.read(parent.id)).toEqual(parent);
      expect(await store.read(first.id)).toEqual(first);
    });
  });

  describe('a task that is made in its commit', () => {
    test('is what has become of it until then', async () => {
      const { store } = subject;
      const [task, other] = [newTask(store), await create(store, newTask(store))];
      let latest = 'early';
      const making = store.create(() => ({ task: { ...task, statusMessage: latest } }));
      latest = 'late';
      const changing = store.change(other.id, (now) => ({ task: { ...now, statusMessage: latest } }));
      expect(await making).toMatchObject({ statusMessage: 'late' });
      expect(await changing).toMatchObject({ statusMessage: 'late' });
    });

    test('is not there where that throws, and its neighbours are', async () => {
      const { store } = subject;
      const making = store.create(() => {
        throw new Error('not any more');
      });
      const neighbour = create(store, newTask(store));
      await expect(making).rejects.toThrow('not any more');
      expect(await store.read((await neighbour).id)).toBeDefined();
    });

    test('cannot vanish before its deadline', async () => {
      const { store } = subject;
      const task = { ...newTask(store), expiresAt: 1 };
      await expect(create(store, task)).rejects.toThrow('before its deadline');
    });
  });
}
