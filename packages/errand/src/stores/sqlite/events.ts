import type { Database } from 'better-sqlite3';
import type { LoggedEvent, StoredEvent } from '../../task/event.ts';
import { isTooLong, numbered, rowsOf, thin, type LogRow, type Thinned } from '../log.ts';
import { parsed } from './trouble.ts';

/** The statements on the table `event`: event logs, a row for all that one change logged. */
export type EventTable = ReturnType<typeof eventTable>;

export function eventTable(db: Database) {
  const insert = db.prepare<[number, number, number, number, number, string]>(
    'INSERT INTO event (row, last, first, at, progress, events) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const select = db.prepare<[number, number, number], { first: number; at: number; events: string }>(
    'SELECT first, at, events FROM event WHERE row = ? AND last > ? ORDER BY last LIMIT ?',
  );
  const selectRows = db.prepare<[number, number], Omit<LogRow, 'isProgress'> & { isProgress: number }>(
    'SELECT first, last, at, progress AS isProgress FROM event WHERE row = ? AND last <> ? ORDER BY last',
  );
  const remove = db.prepare<[number, number]>('DELETE FROM event WHERE row = ? AND last = ?');

  function write(row: number, { first, last, isProgress, at }: LogRow, events: readonly LoggedEvent[]): void {
    insert.run(row, last, first, at, isProgress ? 1 : 0, JSON.stringify(events));
  }

  return {
    /** Adds events to a log that has seen `before` others. Gives what stands in for those that are gone from then on. */
    append(
      row: number,
      events: readonly LoggedEvent[],
      before: number,
      thinned: Thinned | undefined,
      at: number,
    ): Thinned | undefined {
      for (const part of rowsOf(events, before, at)) write(row, part, part.events);
      if (!isTooLong(before + events.length, thinned)) return thinned;
      const rows = selectRows
        .all(row, thinned?.seq ?? 0)
        .map((each) => ({ ...each, isProgress: each.isProgress === 1 }));
      const next = thin(rows, thinned);
      for (const { last } of next.gone) remove.run(row, last);
      if (thinned !== undefined) remove.run(row, thinned.seq);
      const { seq, count } = next.thinned;
      const mark = { first: seq, last: seq, isProgress: false, at: next.thinned.at };
      write(row, mark, [{ kind: 'thinned', count }]);
      return next.thinned;
    },
    read(row: number, after: number, limit: number): StoredEvent[] {
      const found = select
        .all(row, after, limit)
        .flatMap(({ first, at, events }) => numbered(parsed(events) as LoggedEvent[], first, at));
      return found.filter(({ seq }) => seq > after).slice(0, limit);
    },
  };
}
