import { beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../store.ts';
import type { Task } from '../../task/task.ts';
import { ask, cancel, finish, hold, park } from '../../task/transitions.ts';
import { begin, create, listen, newTask, settled, type Subject } from './subject.suite.ts';

const RESULT = { kind: 'result', result: { content: [] } } as const;

/** A subtask of `parent` under a key, as a handler makes it. */
export function subtaskOf(store: Store, parent: Task, key: string): Task {
  const { root = parent.id, path } = parent.parent ?? {};
  return {
    ...newTask(store),
    parent: { id: parent.id, root, key, path: path === undefined ? key : `${path}/${key}` },
  };
}

/** Makes subtasks of a task, one after the other in one change. */
async function makeSubtasks(store: Store, parent: Task, ...keys: string[]): Promise<Task[]> {
  const subtasks = keys.map((key) => subtaskOf(store, parent, key));
  await store.change(parent.id, (task) => ({ task, subtasks }));
  return subtasks;
}

export function graph(subject: Subject): void {
  describe('graph', () => {
    let store: Store;
    let root: Task;
    beforeEach(async () => {
      store = subject.store;
      root = await create(store, newTask(store));
    });

    test('subtasks are kept with the change that makes them, and told of', async () => {
      const subtasks = [subtaskOf(store, root, 'a'), subtaskOf(store, root, 'b')];
      await settled();
      const heard = listen(store);
      const changed = await store.change(root.id, (task) => ({ task, subtasks, entries: [begin(0, 'a')] }));
      expect(changed?.version).toBe(2);
      expect(await store.subtasks(root.id)).toEqual(subtasks);
      for (const subtask of subtasks) expect(await store.read(subtask.id)).toEqual(subtask);
      await settled();
      expect(heard).toEqual([changed, ...subtasks]);
      expect(await store.live(root.principal)).toBe(1); // those of a handler are not its principal's
    });

    test('a task is created with its subtasks', async () => {
      const parent = newTask(store);
      const subtasks = [subtaskOf(store, parent, 'a')];
      await store.create(() => ({ task: parent, subtasks }));
      expect(await store.subtasks(parent.id)).toEqual(subtasks);
    });

    test('a subtask whose id is taken is refused, and with it all of the change', async () => {
      const [first] = await makeSubtasks(store, root, 'a');
      const [good, again] = [subtaskOf(store, root, 'b'), { ...first!, tool: 'other' }];
      const change = store.change(root.id, (task) => ({
        task: { ...task, runs: 7 },
        entries: [begin(0, 'a')],
        events: [{ kind: 'parked' }],
        subtasks: [good, again],
      }));
      const neighbour = create(store, newTask(store));
      await expect(change).rejects.toThrow(first!.id);
      await neighbour;
      expect(await store.subtasks(root.id)).toEqual([first]);
      expect(await store.read(good.id)).toBeUndefined();
      expect(await store.read(root.id)).toMatchObject({ runs: 0, version: 2, events: 0 });
      expect(await store.journal(root.id)).toEqual([]);
      expect(await store.events(root.id, 0, 10)).toEqual([]);
      expect(await store.live(root.principal)).toBe(2); // both roots
    });

    test('subtasks come in the order of their creation, those of their own apart', async () => {
      const [a, b] = await makeSubtasks(store, root, 'a', 'b');
      const [deep] = await makeSubtasks(store, a!, 'deep');
      subject.time += 5;
      const [c] = await makeSubtasks(store, root, 'c');
      expect((await store.subtasks(root.id)).map(({ id }) => id)).toEqual([a, b, c].map((task) => task!.id));
      expect(await store.subtasks(a!.id)).toEqual([deep]);
      expect(deep!.parent).toEqual({ id: a!.id, root: root.id, key: 'deep', path: 'a/deep' });
      expect((await store.subtasks(root.id, 2)).map(({ id }) => id)).toEqual([a!.id, b!.id]);
      expect(await store.subtasks(deep!.id)).toEqual([]);
      expect(await store.subtasks('unknown')).toEqual([]);
    });

    test('asking: the descendants of a root that wait for an answer, at any depth', async () => {
      const [a, b] = await makeSubtasks(store, root, 'a', 'b');
      const [deep] = await makeSubtasks(store, b!, 'deep');
      const other = await create(store, newTask(store));
      const [foreign] = await makeSubtasks(store, other, 'a');
      for (const { id } of [root, deep!, a!, foreign!]) {
        await store.change(id, (task) => ({
          task: ask(task, 'go', { method: 'roots/list', params: {} }, store.now()),
        }));
      }
      expect((await store.asking(root.id)).map(({ id }) => id)).toEqual([a!.id, deep!.id]);
      await store.change(a!.id, (task) => ({ task: cancel(task, store.now()) }));
      expect((await store.asking(root.id)).map(({ id }) => id)).toEqual([deep!.id]);
      expect(await store.asking('unknown')).toEqual([]);
    });

    test('changeTree changes a task and its live descendants at once, and tells of each', async () => {
      const [a, b] = await makeSubtasks(store, root, 'a', 'b');
      const [deep] = await makeSubtasks(store, a!, 'deep');
      const [beside] = await makeSubtasks(store, await create(store, newTask(store)), 'beside');
      const ended = await store.change(b!.id, (task) => ({ task: finish(task, RESULT, store.now()) }));
      await settled();
      const heard = listen(store);
      const changed = await store.changeTree(root.id, (task) => ({
        task: cancel(task, store.now()),
        events: [{ kind: 'cancel_asked' }],
      }));
      expect(changed).toEqual(await store.read(root.id));
      for (const { id } of [root, a!, deep!]) {
        expect(await store.read(id)).toMatchObject({ status: 'cancelled', events: 1 });
        expect(await store.events(id, 0, 9)).toMatchObject([{ kind: 'cancel_asked', seq: 1 }]);
      }
      expect(await store.read(b!.id)).toEqual(ended);
      expect(await store.read(beside!.id)).toEqual(beside);
      await settled();
      expect(heard.map(({ id }) => id)).toEqual([root, a!, deep!].map(({ id }) => id));
    });

    test('changeTree reaches what lives below a task that has ended, and nothing above', async () => {
      const [a] = await makeSubtasks(store, root, 'a');
      const [deep] = await makeSubtasks(store, a!, 'deep');
      await store.change(a!.id, (task) => ({ task: finish(task, RESULT, store.now()) }));
      await store.changeTree(a!.id, (task) => ({ task: cancel(task, store.now()) }));
      expect(await store.read(deep!.id)).toMatchObject({ status: 'cancelled' });
      expect(await store.read(a!.id)).toMatchObject({ status: 'completed' });
      expect(await store.read(root.id)).toMatchObject({ status: 'working' });
      expect(await store.changeTree('unknown', () => expect.fail('nothing to decide on'))).toBeUndefined();
    });

    test('changeTree that fails for one leaves all as they were', async () => {
      const [a, b] = await makeSubtasks(store, root, 'a', 'b');
      const before = await Promise.all([root, a!, b!].map(({ id }) => store.read(id)));
      const change = store.changeTree(root.id, (task) => {
        if (task.id === b!.id) throw new Error('not this one');
        return { task: cancel(task, store.now()), events: [{ kind: 'cancel_asked' }] };
      });
      const neighbour = create(store, newTask(store));
      await expect(change).rejects.toThrow('not this one');
      await neighbour;
      expect(await Promise.all([root, a!, b!].map(({ id }) => store.read(id)))).toEqual(before);
      expect(await store.events(root.id, 0, 9)).toEqual([]);
      expect(await store.live(root.principal)).toBe(2); // both roots
    });

    describe('a task that another one wakes', () => {
      const wakes = (id: string) => store.change(waker.id, (task) => ({ task, wakes: id }));
      let waker: Task;
      beforeEach(async () => {
        waker = await create(store, newTask(store));
      });

      test.each([
        ['waits for nothing but an answer', undefined],
        ['is due later', 2_000_000],
      ])('is due at once where it %s, one version on, and is told of', async (_, wakeAt) => {
        await store.change(root.id, (task) => ({ task: park(task, wakeAt) }));
        await settled();
        const heard = listen(store);
        subject.time += 10;
        await wakes(root.id);
        const woken = await store.read(root.id);
        expect(woken).toMatchObject({ wakeAt: store.now(), version: 3 });
        await settled();
        expect(heard.map(({ id, version }) => [id, version])).toEqual([
          [waker.id, 2],
          [root.id, 3],
        ]);
        expect(heard[1]).toEqual(woken);
        expect(await store.due(1_000_000, store.now())).toEqual([{ id: root.id, wakeAt: store.now() }]);
      });

      test.each([
        ['has ended', (task: Task) => cancel(task, 1_000_000)],
        ['is held', (task: Task) => hold(task, 'no code', 1_000_000)],
      ])('stays as it is where it %s', async (_, before) => {
        const task = await store.change(root.id, (now) => ({ task: before(now) }));
        await settled();
        const heard = listen(store);
        subject.time += 10;
        await wakes(root.id);
        await wakes('unknown');
        expect(await store.read(root.id)).toEqual(task);
        await settled();
        expect(heard.map(({ id }) => id)).toEqual([waker.id, waker.id]);
      });

      test('that is due stays due since then, one version on', async () => {
        const { version } = (await store.change(root.id, (now) => ({ task: park(now, 999_999) })))!;
        subject.time += 10;
        await wakes(root.id);
        expect(await store.read(root.id)).toMatchObject({ wakeAt: 999_999, version: version + 1 });
      });

      test('is woken by each of many that end together', async () => {
        const subtasks = await makeSubtasks(store, root, ...Array.from({ length: 20 }, (_, index) => `${index}`));
        const parked = await store.change(root.id, (task) => ({ task: park(task, undefined) }));
        await Promise.all(
          subtasks.map(({ id }) =>
            store.change(id, (task) => ({ task: finish(task, RESULT, store.now()), wakes: root.id })),
          ),
        );
        expect(await store.read(root.id)).toMatchObject({ version: parked!.version + 20, wakeAt: store.now() });
      });
    });
  });
}
