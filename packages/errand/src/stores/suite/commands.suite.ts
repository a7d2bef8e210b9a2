import { beforeEach, describe, expect, test } from 'vitest';
import { ErrandError } from '../../errors.ts';
import type { Store } from '../../store.ts';
import type { JournalEntry } from '../../task/journal.ts';
import type { Task } from '../../task/task.ts';
import { describe as describeTask } from '../../task/transitions.ts';
import { begin, create, describeAs, listen, newTask, richTask, settled, type Subject } from './subject.suite.ts';

export function commands(subject: Subject): void {
  describe('commands', () => {
    let store: Store;
    beforeEach(() => {
      store = subject.store;
    });

    test('a task is read as it was created', async () => {
      const task = richTask(store);
      expect(await create(store, task)).toEqual(task);
      expect(await store.read(task.id)).toEqual(task);
    });

    test('what is absent from a task stays absent, rather than undefined or null', async () => {
      const { wakeAt: _, ...task } = newTask(store);
      await create(store, task);
      expect(await store.read(task.id)).toStrictEqual(task);
    });

    test('a change raises the version by one and resolves with the state that is read', async () => {
      const task = await create(store, newTask(store));
      const changed = await store.change(task.id, (now) => ({ task: describeTask(now, 'half', store.now() + 5) }));
      expect(changed).toEqual({
        ...task,
        version: task.version + 1,
        statusMessage: 'half',
        lastUpdatedAt: store.now() + 5,
      });
      expect(await store.read(task.id)).toEqual(changed);
    });

    test.each([
      ['nothing', () => undefined],
      ['the very same task', (task: Task) => ({ task })],
    ])('a decision that returns %s changes nothing', async (_, decide) => {
      const task = await create(store, newTask(store));
      const heard = listen(store);
      expect(await store.change(task.id, decide)).toEqual(task);
      await settled();
      expect(await store.read(task.id)).toEqual(task);
      expect(heard).toEqual([]);
    });

    test('two changes of one task in one commit see each other', async () => {
      const task = await create(store, newTask(store));
      const raise = (now: Task) => ({ task: { ...now, runs: now.runs + 1 } });
      const states = await Promise.all([store.change(task.id, raise), store.change(task.id, raise)]);
      expect(states.map((state) => [state?.runs, state?.version])).toEqual([
        [1, 2],
        [2, 3],
      ]);
      expect(await store.read(task.id)).toEqual(states[1]);
    });

    test('a task created and changed in one commit is there, changed', async () => {
      const task = newTask(store);
      const [, changed] = await Promise.all([create(store, task), store.change(task.id, describeAs('made'))]);
      expect(changed?.statusMessage).toBe('made');
    });

    test('a decision that throws fails alone', async () => {
      const [first, second] = [await create(store, newTask(store)), await create(store, newTask(store))];
      const third = newTask(store);
      const results = await Promise.allSettled([
        store.change(first.id, describeAs('before')),
        store.change(second.id, () => {
          throw new RangeError('bad decision');
        }),
        create(store, third),
        store.change(second.id, describeAs('after')),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
      expect(results[1]).toMatchObject({ reason: new RangeError('bad decision') });
      expect((await store.read(first.id))?.statusMessage).toBe('before');
      expect(await store.read(second.id)).toMatchObject({ version: 2, statusMessage: 'after' });
      expect(await store.read(third.id)).toEqual(third);
    });

    test('a command that fails half-way leaves nothing of itself', async () => {
      const old = await create(store, newTask(store));
      const [bad, good] = [newTask(store), newTask(store)];
      const noJson = [begin(0, 'a'), { ...begin(1, 'b'), value: 1n } as unknown as JournalEntry];
      const results = await Promise.allSettled([
        create(store, bad, noJson),
        store.change(old.id, (task) => ({ task: { ...task, runs: 9 }, entries: noJson })),
        create(store, good),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
      expect(await store.read(bad.id)).toBeUndefined();
      expect(await store.journal(bad.id)).toEqual([]);
      expect(await store.read(old.id)).toEqual(old);
      expect(await store.journal(old.id)).toEqual([]);
      expect(await store.live(old.principal)).toBe(2);
    });

    test('an id that is taken is refused, and its task stays as it is', async () => {
      const task = await create(store, newTask(store), [begin(0, 'a')]);
      await expect(create(store, { ...task, tool: 'other' })).rejects.toThrow(task.id);
      expect(await store.read(task.id)).toEqual(task);
      expect(await store.journal(task.id)).toHaveLength(1);
    });

    test.each([
      ['arguments', { other: true }],
      ['principal', 'anonymous'],
      ['id', 'another'],
      ['expiresAt', 1],
      ['deadlineAt', 1],
      ['parent', { id: 'other', root: 'other', key: 'a', path: 'a' }],
      ['scopes', []],
      ['idempotency', { key: 'a', digest: 'b' }],
      ['traceparent', 'other'],
      ['birth', { session: 'other' }],
    ])('a change of what is fixed at creation is refused: %s', async (field, value) => {
      const task = await create(store, newTask(store));
      await expect(store.change(task.id, (now) => ({ task: { ...now, [field]: value } }))).rejects.toThrow(field);
      expect(await store.read(task.id)).toEqual(task);
    });

    test('who keeps a task that was given or read cannot reach into the store', async () => {
      const args = { list: [1] };
      const task = { ...newTask(store), arguments: args };
      await create(store, task);
      const read = (await store.read(task.id))!;
      // What is kept may be frozen: then an attempt does nothing, or is an error.
      Reflect.set(args.list, 1, 2);
      Reflect.set(read.arguments, 'list', 'gone');
      expect((await store.read(task.id))?.arguments).toEqual({ list: [1] });
    });

    test('commands and reads of a store that is closed are refused as retryable', async () => {
      const task = await create(store, newTask(store));
      await store.close();
      for (const attempt of [store.read(task.id), store.change(task.id, describeAs('x')), create(store, task)]) {
        await expect(attempt).rejects.toMatchObject({ kind: 'storeAway', retryable: true });
      }
      expect(() => store.newId()).toThrow(ErrandError);
    });

    test('closing waits for the commands under way and for the news of them', async () => {
      const heard = listen(store);
      const task = newTask(store);
      const creation = create(store, task);
      await store.close();
      expect(heard).toEqual([task]);
      await expect(creation).resolves.toEqual(task);
      await store.open();
      expect(await store.read(task.id)).toEqual(task);
    });
  });
}
