import { beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../store.ts';
import type { LoggedEvent, StoredEvent } from '../../task/event.ts';
import { create, newTask, type Subject } from './subject.suite.ts';

const step = (name: string): LoggedEvent => ({ kind: 'step_begun', name, ordinal: 1 });
const progress = (done: number): LoggedEvent => ({ kind: 'progress', progress: { done } });
const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

export function events(subject: Subject): void {
  describe('events', () => {
    let store: Store;
    beforeEach(() => {
      store = subject.store;
    });

    const log = (id: string, ...logged: LoggedEvent[]) => store.change(id, (task) => ({ task, events: logged }));
    const all = (id: string) => store.events(id, 0, 100_000);

    test('are numbered from 1 in the order in which they were logged, with the time of their commit', async () => {
      const task = newTask(store);
      const kept = await store.create(() => ({ task, events: [{ kind: 'started', replays: false }] }));
      expect(kept).toEqual({ ...task, events: 1 });
      subject.time += 10;
      const changed = await log(task.id, step('a'), { kind: 'asked', key: 'ü' });
      expect(changed).toMatchObject({ version: 2, events: 3 });
      await Promise.all([log(task.id, { kind: 'parked' }), log(task.id, step('b'))]);
      expect(await all(task.id)).toStrictEqual([
        { seq: 1, at: 1_000_000, kind: 'started', replays: false },
        { seq: 2, at: 1_000_010, kind: 'step_begun', name: 'a', ordinal: 1 },
        { seq: 3, at: 1_000_010, kind: 'asked', key: 'ü' },
        { seq: 4, at: 1_000_010, kind: 'parked' },
        { seq: 5, at: 1_000_010, kind: 'step_begun', name: 'b', ordinal: 1 },
      ]);
      expect(await store.read(task.id)).toMatchObject({ events: 5, version: 4 });
    });

    test('are counted by the store, whatever a change says', async () => {
      const { id } = await create(store, newTask(store));
      await store.change(id, (task) => ({ task: { ...task, events: 77 }, events: [step('a')] }));
      expect(await store.read(id)).toMatchObject({ events: 1 });
    });

    test('are read in pages: after a number, and so many at most', async () => {
      const { id } = await create(store, newTask(store));
      await log(id, step('a'), step('b'), step('c'));
      await log(id, step('d'));
      const seqs = async (after: number, limit: number) => (await store.events(id, after, limit)).map(({ seq }) => seq);
      expect(await seqs(0, 2)).toEqual([1, 2]);
      expect(await seqs(2, 2)).toEqual([3, 4]);
      expect(await seqs(1, 1)).toEqual([2]);
      expect(await seqs(4, 5)).toEqual([]);
      expect(await store.events('unknown', 0, 9)).toEqual([]);
    });

    test('of a change that fails are not logged, and those of another task are not seen', async () => {
      const [first, second] = [await create(store, newTask(store)), await create(store, newTask(store))];
      const failing = store.change(first.id, (task) => ({ task: { ...task, tool: 'other' }, events: [step('a')] }));
      await Promise.all([expect(failing).rejects.toThrow('tool'), log(second.id, step('b'))]);
      expect(await all(first.id)).toEqual([]);
      expect(await all(second.id)).toHaveLength(1);
    });

    test('vanish with their task', async () => {
      const { id, expiresAt } = await create(store, newTask(store));
      await log(id, step('a'));
      await store.expire(expiresAt, 10);
      expect(await all(id)).toEqual([]);
    });

    describe('of a long log', () => {
      const kinds = (events: readonly StoredEvent[], kind: LoggedEvent['kind']) =>
        events.filter((event) => event.kind === kind);
      /** How many events are missing by their numbers. */
      const missing = (events: readonly StoredEvent[]) =>
        events.at(-1)!.seq - events.filter(({ kind }) => kind !== 'thinned').length;

      test('stay as they are up to 1,000', async () => {
        const { id } = await create(store, newTask(store));
        for (let round = 0; round < 10; round++) await log(id, ...times(100, (index) => progress(round * 100 + index)));
        expect((await all(id)).map(({ seq }) => seq)).toEqual(times(1000, (index) => index + 1));
      });

      test('go where they are old and only tell of progress, and what is gone is told once', async () => {
        const { id } = await create(store, newTask(store));
        await log(id, { kind: 'started', replays: false });
        for (let round = 0; round < 300; round++) {
          await Promise.all(times(9, (index) => log(id, progress(round * 9 + index))));
          await log(id, step(`${round}`), progress(round));
        }
        const left = await all(id);
        expect(await store.read(id)).toMatchObject({ events: 3301 });
        expect(left.length).toBeLessThanOrEqual(1000);
        expect(left.length).toBeGreaterThan(800);
        expect(left[0]).toMatchObject({ seq: 1, kind: 'started' });
        // What is told beside progress is told as long as there is room.
        expect(kinds(left, 'step_begun')).toHaveLength(300);
        expect(left.at(-1)).toMatchObject({ seq: 3301, progress: { done: 299 } });
        const thinned = kinds(left, 'thinned');
        expect(thinned).toHaveLength(1);
        expect(thinned[0]).toMatchObject({ count: missing(left) });
        const order = left.map(({ seq }) => seq);
        expect(order).toEqual(order.toSorted((one, other) => one - other));
        expect(new Set(order).size).toBe(order.length);
        // A page begins in the middle of it as anywhere else.
        expect(await store.events(id, thinned[0]!.seq, 3)).toEqual(
          left.filter(({ seq }) => seq > thinned[0]!.seq).slice(0, 3),
        );
      });

      test('go also where the task was made with too many, and only now and then', async () => {
        const task = newTask(store);
        await store.create(() => ({ task, events: times(2500, (index) => step(`${index}`)) }));
        let thinnings = 0;
        let mark = 0;
        for (let round = 0; round < 300; round++) {
          await log(task.id, step(`more ${round}`));
          const left = await all(task.id);
          const [thinned, ...others] = kinds(left, 'thinned');
          expect(others).toEqual([]);
          expect(thinned).toMatchObject({ count: missing(left) });
          expect(left.length).toBeLessThanOrEqual(1001);
          if (thinned!.seq > mark) thinnings++;
          mark = thinned!.seq;
        }
        expect(thinnings).toBeLessThan(10);
      });

      test('go from the oldest on where no progress is left, but for how it began', async () => {
        const { id } = await create(store, newTask(store));
        await log(id, { kind: 'started', replays: false });
        for (let round = 0; round < 40; round++) await log(id, ...times(30, (index) => step(`${round}-${index}`)));
        await log(id, ...times(2500, (index) => step(`${index}`)));
        const left = await all(id);
        expect(left.length).toBeLessThanOrEqual(1000);
        expect(left.length).toBeGreaterThan(700);
        expect(left[0]).toMatchObject({ seq: 1, kind: 'started' });
        expect(left[1]).toMatchObject({ kind: 'thinned', count: missing(left) });
        const rest = left.slice(2).map(({ seq }) => seq);
        expect(rest).toEqual(times(rest.length, (index) => rest[0]! + index));
        expect(rest.at(-1)).toBe(1 + 40 * 30 + 2500);
      });
    });
  });
}
