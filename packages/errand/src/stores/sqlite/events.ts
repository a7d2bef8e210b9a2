import type { Database } from 'better-sqlite3';
import type { LoggedEvent, StoredEvent } from '../../task/event.ts';
import { isTooLong, LARGEST_ROW, numbered, rowsOf, thin, type LogRow, type Thinned } from '../log.ts';
import { parsed } from './trouble.ts';

/** The statements on the table `event`: event logs, a row for all that one change logged. */
export type EventTable = ReturnType<typeof eventTable>;

/** The events that a task begins with: they are kept with its call. */
interface Opening {
  readonly at: number;
  readonly events: readonly LoggedEvent[];
}

/** What of its first events opens the log of a new task. How a task began is never thinned, unless it is but progress. */
export function openingOf(events: readonly LoggedEvent[], at: number): Opening | undefined {
  const row = rowsOf(events, 0, at)[0];
  return row === undefined || row.isProgress ? undefined : { at, events: row.events };
}

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
  const selectOpening = db.prepare<[number], string | null>('SELECT opening FROM call WHERE row = ?').pluck();
  const remove = db.prepare<[number, number]>('DELETE FROM event WHERE row = ? AND last = ?');

  function write(row: number, { first, last, isProgress, at }: LogRow, events: readonly LoggedEvent[]): void {
    insert.run(row, last, first, at, isProgress ? 1 : 0, JSON.stringify(events));
  }

  function opening(row: number): Opening | undefined {
    const text = selectOpening.get(row);
    return text === null || text === undefined ? undefined : (parsed(text) as Opening);
  }

  function rowsButMark(row: number, thinned: Thinned | undefined): LogRow[] {
    const rows = selectRows.all(row, thinned?.seq ?? 0).map((each) => ({ ...each, isProgress: each.isProgress === 1 }));
    const first = opening(row);
    return first === undefined
      ? rows
      : [{ first: 1, last: first.events.length, isProgress: false, at: first.at }, ...rows];
  }

  /** Adds events to a log that has seen `before` others, however long it is then. */
  function add(row: number, events: readonly LoggedEvent[], before: number, at: number): void {
    for (const part of rowsOf(events, before, at)) write(row, part, part.events);
  }

  return {
    add,
    /** Adds events, and thins the log where it has grown too long. Gives what stands in for those that are gone from then on. */
    append(
      row: number,
      events: readonly LoggedEvent[],
      before: number,
      thinned: Thinned | undefined,
      at: number,
    ): Thinned | undefined {
      add(row, events, before, at);
      if (!isTooLong(before + events.length, thinned)) return thinned;
      const next = thin(rowsButMark(row, thinned), thinned);
      for (const { last } of next.gone) remove.run(row, last);
      if (thinned !== undefined) remove.run(row, thinned.seq);
      const { seq, count } = next.thinned;
      const mark = { first: seq, last: seq, isProgress: false, at: next.thinned.at };
      write(row, mark, [{ kind: 'thinned', count }]);
      return next.thinned;
    },
    read(row: number, after: number, limit: number): StoredEvent[] {
      const first = after < LARGEST_ROW ? opening(row) : undefined;
      const found = first === undefined ? [] : numbered(first.events, 1, first.at);
      for (const { first, at, events } of select.all(row, after, limit)) {
        found.push(...numbered(parsed(events) as LoggedEvent[], first, at));
      }
      return found.filter(({ seq }) => seq > after).slice(0, limit);
    },
  };
}
