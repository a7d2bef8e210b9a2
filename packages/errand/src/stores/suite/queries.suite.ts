import { beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../store.ts';
import { cancel, finish, hold, park } from '../../task/transitions.ts';
import { begin, create, heapUsed, makeAndExpire, newTask, type Subject } from './subject.suite.ts';

export function queries(subject: Subject): void {
  describe('queries', () => {
    let store: Store;
    beforeEach(() => {
      store = subject.store;
    });

    test('due: live tasks after one time and not after another, oldest first', async () => {
      const make = async (wakeAt: number | undefined) => create(store, park(newTask(store), wakeAt));
      const [late, early, edge] = [await make(300), await make(200), await make(400)];
      const [tooEarly, tooLate] = [await make(100), await make(401)];
      await make(undefined);
      const ended = await make(250);
      await store.change(ended.id, (task) => ({ task: { ...cancel(task, store.now()), wakeAt: 250 } }));
      expect(await store.due(100, 400)).toEqual([
        { id: early.id, wakeAt: 200 },
        { id: late.id, wakeAt: 300 },
        { id: edge.id, wakeAt: 400 },
      ]);
      const all = await store.due(-Infinity, Number.MAX_SAFE_INTEGER);
      expect(all.map(({ id }) => id)).toEqual([tooEarly, early, late, edge, tooLate].map(({ id }) => id));
    });

    test('a task that is woken or put off is due at its new time only', async () => {
      const task = await create(store, park(newTask(store), 200));
      await store.change(task.id, (now) => ({ task: park(now, 500) }));
      expect(await store.due(0, 499)).toEqual([]);
      expect(await store.due(0, 500)).toEqual([{ id: task.id, wakeAt: 500 }]);
      await store.change(task.id, (now) => ({ task: park(now, undefined) }));
      expect(await store.due(0, 1e12)).toEqual([]);
    });

    test('due: not while it is paused', async () => {
      const task = await create(store, park(newTask(store), 200));
      await store.change(task.id, (now) => ({ task: { ...now, paused: true } }));
      expect(await store.due(0, 1e12)).toEqual([]);
      expect(await store.read(task.id)).toMatchObject({ paused: true, wakeAt: 200 });
      await store.change(task.id, ({ paused: _, ...rest }) => ({ task: rest }));
      expect(await store.due(0, 1e12)).toEqual([{ id: task.id, wakeAt: 200 }]);
    });

    test('held: live tasks that no code fits', async () => {
      const held = await create(store, newTask(store));
      await create(store, newTask(store));
      const ended = await create(store, newTask(store));
      await store.change(held.id, (task) => ({ task: hold(task, 'no such step', store.now()) }));
      await store.change(ended.id, (task) => ({ task: { ...cancel(task, store.now()), held: 'was held' } }));
      expect(await store.held()).toEqual([held.id]);
    });

    test('overdue: live tasks at their deadline, the longest overdue first, at most so many', async () => {
      const make = async (deadlineAt: number) => create(store, { ...newTask(store), deadlineAt });
      const [second, first, third] = [await make(200), await make(100), await make(300)];
      const ended = await make(50);
      await store.change(ended.id, (task) => ({ task: cancel(task, store.now()) }));
      expect(await store.overdue(99, 10)).toEqual([]);
      expect(await store.overdue(300, 10)).toEqual([first.id, second.id, third.id]);
      expect(await store.overdue(300, 2)).toEqual([first.id, second.id]);
    });

    test('read: for an owner, tasks of others are not there, whether they were read before or not', async () => {
      const mine = JSON.stringify(['issuer', null, 'me', null]);
      const task = await create(store, { ...newTask(store), principal: mine });
      for (let times = 0; times < 2; times++) {
        expect(await store.read(task.id, 'anonymous')).toBeUndefined();
        expect(await store.read(task.id, mine)).toEqual(task);
        expect(await store.read(task.id)).toEqual(task);
      }
    });

    test('live: counts the tasks of one principal that have not ended', async () => {
      const mine = JSON.stringify(['issuer', null, 'me', null]);
      const task = await create(store, { ...newTask(store), principal: mine });
      await create(store, { ...newTask(store), principal: mine });
      await create(store, newTask(store));
      expect(await store.live(mine)).toBe(2);
      await store.change(task.id, (now) => ({
        task: finish(now, { kind: 'result', result: { content: [] } }, store.now()),
      }));
      expect(await store.live(mine)).toBe(1);
      expect(await store.live('nobody')).toBe(0);
    });

    test('expire: removes what may vanish with its journal, at most so many, and nothing else', async () => {
      const make = async (expiresAt: number) =>
        create(store, { ...newTask(store), deadlineAt: expiresAt, expiresAt }, [begin(0, 'a')]);
      const [gone, edge, kept] = [await make(100), await make(200), await make(201)];
      expect(await store.expire(99, 10)).toBe(0);
      expect(await store.expire(200, 1)).toBe(1);
      expect(await store.expire(200, 10)).toBe(1);
      expect(await store.expire(200, 10)).toBe(0);
      for (const { id } of [gone, edge]) {
        expect(await store.read(id)).toBeUndefined();
        expect(await store.journal(id)).toEqual([]);
      }
      expect(await store.read(kept.id)).toEqual(kept);
      expect(await store.live(kept.principal)).toBe(1);
    });

    // CASES 7
    test('100,000 tasks made and expired leave no heap behind', { timeout: 120_000 }, async () => {
      await makeAndExpire(store, 5000);
      const before = heapUsed();
      await makeAndExpire(store, 100_000);
      expect(heapUsed()).toBeLessThan(before * 1.1);
      expect(await store.due(-Infinity, Number.MAX_SAFE_INTEGER)).toEqual([]);
      expect(await store.live('local')).toBe(0);
    });
  });
}
