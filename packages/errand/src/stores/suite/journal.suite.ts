import { beforeEach, describe, expect, test } from 'vitest';
import { StaleJournal, type Store } from '../../store.ts';
import type { JournalEntry } from '../../task/journal.ts';
import { begin, create, end, newTask, type Subject } from './subject.suite.ts';

export function journal(subject: Subject): void {
  describe('journal', () => {
    let store: Store;
    beforeEach(() => {
      store = subject.store;
    });

    test('entries come back in order, as they were written', async () => {
      const entries: JournalEntry[] = [
        begin(0, 'a'),
        { seq: 1, type: 'begin', kind: 'now', name: 'now', ordinal: 1, value: 123 },
        { seq: 2, type: 'begin', kind: 'uuid', name: 'uuid', ordinal: 1, value: null },
        end(3, 0, { value: { deep: [1, null, 'ü'] } }),
        begin(4, 'b'),
        end(5, 4, { failure: { name: 'StepError', message: 'no', code: 'E', data: { left: 1 } } }),
        end(6, 1, { value: null }),
        { seq: 7, type: 'retry', end: 5 },
        { seq: 8, type: 'retry' },
        { seq: 9, type: 'begin', kind: 'subtask', name: 'part', ordinal: 1, value: 'an id' },
      ];
      const task = await create(store, newTask(store), entries.slice(0, 2));
      await Promise.all([
        store.change(task.id, (now) => ({ task: now, entries: entries.slice(2, 4) })),
        store.change(task.id, (now) => ({ task: now, entries: entries.slice(4) })),
      ]);
      expect(await store.journal(task.id)).toStrictEqual(entries);
      expect((await store.read(task.id))?.version).toBe(task.version + 2);
    });

    test('an entry that leaves a gap, or comes a second time, is refused with its change', async () => {
      const task = await create(store, newTask(store), [begin(0, 'a')]);
      for (const seq of [0, 2]) {
        const change = store.change(task.id, (now) => ({ task: { ...now, runs: 5 }, entries: [begin(seq, 'b')] }));
        await expect(change).rejects.toThrow(StaleJournal);
        await expect(change).rejects.toThrow('goes on at 1');
      }
      await expect(create(store, newTask(store), [begin(1, 'a')])).rejects.toThrow('goes on at 0');
      expect(await store.read(task.id)).toEqual(task);
      expect(await store.journal(task.id)).toEqual([begin(0, 'a')]);
    });

    test('a task has the journal that it alone was given', async () => {
      const [first, second] = [newTask(store), newTask(store)];
      await Promise.all([create(store, first, [begin(0, 'a')]), create(store, second, [begin(0, 'b')])]);
      expect(await store.journal(second.id)).toEqual([begin(0, 'b')]);
    });
  });
}
