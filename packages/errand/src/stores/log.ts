import type { LoggedEvent, StoredEvent } from '../task/event.ts';

/*
 * The event log of a task as every store keeps it: rows of events that were logged together. A log
 * that has grown too long is thinned, a good bite at a time, so that most writes need not look at it.
 */

/** How many events of a task are kept. */
const MOST = 1000;
/** Once there are more, so many are left. */
const AFTER_THINNING = 900;
/** How many events share a row at most. What goes from a log goes by rows. */
export const LARGEST_ROW = 100;

/** Some events of one commit, numbered `first` to `last`. */
export interface LogRow {
  readonly first: number;
  readonly last: number;
  /** Whether progress is all that it tells of. */
  readonly isProgress: boolean;
  readonly at: number;
}

/** What stands in for events that are gone: how many, and the number and the time of the last of them. */
export interface Thinned {
  readonly count: number;
  readonly seq: number;
  readonly at: number;
}

/** Events with what becomes their row. */
export interface NewRow extends LogRow {
  readonly events: readonly LoggedEvent[];
}

/** The rows that events become which come after so many others. */
export function rowsOf(events: readonly LoggedEvent[], before: number, at: number): NewRow[] {
  const rows: NewRow[] = [];
  for (let from = 0; from < events.length; from += LARGEST_ROW) {
    const part = events.length <= LARGEST_ROW ? events : events.slice(from, from + LARGEST_ROW);
    const first = before + from + 1;
    rows.push({ first, last: first + part.length - 1, isProgress: part.every(isProgress), at, events: part });
  }
  return rows;
}

/** Whether a log that has seen so many events should be thinned. */
export function isTooLong(events: number, thinned: Thinned | undefined): boolean {
  return events - (thinned === undefined ? 0 : thinned.count - 1) > MOST;
}

/**
 * Which rows go from a log, all of whose rows are given but the one of what is gone, and what then
 * stands in for them: the oldest of progress first, then the oldest others. How a task began stays.
 */
export function thin<R extends LogRow>(
  rows: readonly R[],
  before: Thinned | undefined,
): { readonly gone: readonly R[]; readonly thinned: Thinned } {
  const others = rows.filter((row) => !row.isProgress);
  const candidates = [...rows.filter((row) => row.isProgress), ...others.slice(1)];
  let left = rows.reduce((sum, row) => sum + sizeOf(row), 0);
  const gone: R[] = [];
  for (const row of candidates) {
    if (left <= AFTER_THINNING) break;
    gone.push(row);
    left -= sizeOf(row);
  }
  let { count, seq, at } = before ?? { count: 0, seq: 0, at: 0 };
  for (const row of gone) {
    count += sizeOf(row);
    if (row.last > seq) ({ last: seq, at } = row);
  }
  return { gone, thinned: { count, seq, at } };
}

/** The events of a row under their numbers. */
export function numbered(events: readonly LoggedEvent[], first: number, at: number): StoredEvent[] {
  return events.map((event, index) => ({ ...event, seq: first + index, at }));
}

function isProgress({ kind }: LoggedEvent): boolean {
  return kind === 'progress';
}

function sizeOf({ first, last }: LogRow): number {
  return last - first + 1;
}
