import { beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../store.ts';
import type { Task } from '../../task/task.ts';
import { begin, create, describeAs, listen, newTask, settled, type Subject } from './subject.suite.ts';

export function visibility(subject: Subject): void {
  describe('visibility', () => {
    let store: Store;
    beforeEach(() => {
      store = subject.store;
    });

    test('nobody sees a command before its commit', async () => {
      const [task, second] = [await create(store, newTask(store)), newTask(store)];
      const writing = Promise.all([
        store.change(task.id, (now) => ({ task: { ...now, held: 'so' }, entries: [begin(0, 'a')] })),
        create(store, second),
      ]);
      for (let microtask = 0; microtask < 10; microtask++) {
        expect(await store.live(task.principal)).toBe(1);
        expect(await store.held()).toEqual([]);
        expect(await store.journal(task.id)).toEqual([]);
        expect(await store.list(task.principal, { limit: 10 })).toEqual([task]);
      }
      await writing;
      expect(await store.live(task.principal)).toBe(2);
      expect(await store.held()).toEqual([task.id]);
      expect(await store.read(task.id)).toMatchObject({ held: 'so' });
    });

    test('who reads while a commit is under way is answered after it, with what it made', async () => {
      const [task, second] = [await create(store, newTask(store)), newTask(store)];
      const order: string[] = [];
      const reads = [store.read(task.id), store.read(second.id)];
      for (const read of reads) void read.then(() => order.push('read'));
      const writing = [store.change(task.id, describeAs('new')), create(store, second)];
      for (const write of writing) void write.then(() => order.push('written'));
      reads.push(store.read(task.id));
      expect(await Promise.all(reads)).toMatchObject([{ statusMessage: 'new' }, second, { statusMessage: 'new' }]);
      expect(order.slice(0, 2)).toEqual(['written', 'written']);
    });

    test('listeners hear the latest state of each task once a commit, after the callers', async () => {
      const [first, second] = [newTask(store), newTask(store)];
      const order: string[] = [];
      store.subscribe((task) => order.push(`heard ${task.id} v${task.version}`));
      const callers = [
        create(store, first).then(() => order.push('answered')),
        create(store, second).then(() => order.push('answered')),
        store.change(first.id, describeAs('x')).then(() => order.push('answered')),
      ];
      await Promise.all(callers);
      await settled();
      expect(order).toEqual(['answered', 'answered', 'answered', `heard ${first.id} v2`, `heard ${second.id} v1`]);
    });

    test('a listener that throws harms neither callers nor other listeners, and is warned about', async () => {
      const warning = new Promise<Error>((resolve) => process.once('warning', resolve));
      store.subscribe(() => {
        throw new Error('bad listener');
      });
      const heard = listen(store);
      const task = await create(store, newTask(store));
      await settled();
      expect(heard).toEqual([task]);
      expect((await warning).message).toBe('bad listener');
    });

    test('a listener hears nothing after it stopped, and nothing of refused commands', async () => {
      const task = await create(store, newTask(store));
      await settled();
      const heard: Task[] = [];
      const stop = store.subscribe((state) => heard.push(state));
      const refused = store.change(task.id, (now) => ({ task: { ...now, tool: 'other' } }));
      await expect(refused).rejects.toThrow(TypeError);
      await settled();
      stop();
      await store.change(task.id, describeAs('late'));
      await settled();
      expect(heard).toEqual([]);
    });
  });
}
