import type { Database } from 'better-sqlite3';
import type { Progress, TaskStatus } from '../../task/task.ts';
import type { Place } from './ids.ts';

// As in the indexes, or they would not serve.
export const LIVE = `status IN ('working', 'input_required')`;
const ENDED = `status NOT IN ('working', 'input_required')`;

/** Where a due task is, and since when it is due. */
export interface DuePlace extends Place {
  readonly wakeAt: number;
}

/** A task in the order of a list, which shows the latest first. */
interface ListPlace {
  readonly row: number;
  readonly createdAt: number;
}

/** A task that may vanish, and how much else is in the file of it, at most. */
interface Expired {
  readonly row: number;
  readonly rows: number;
}

/** So many lines of journals and event logs vanish at a time, which takes some ms. */
const MOST_EXPIRED = 5000;

/** The questions over all tasks; most are answered with rows, or places. */
export type TaskQueries = ReturnType<typeof taskQueries>;

export function taskQueries(db: Database) {
  const due = db.prepare<[number, number], DuePlace>(
    `SELECT row, nonce, wake_at AS wakeAt FROM task
     WHERE wake_at > ? AND wake_at <= ? AND paused IS NULL AND ${LIVE} ORDER BY wake_at, row`,
  );
  const held = db.prepare<[], Place>(
    `SELECT row, nonce FROM task INDEXED BY task_held WHERE held IS NOT NULL AND ${LIVE}`,
  );
  const overdue = db.prepare<[number, number], Place>(
    `SELECT row, nonce FROM task WHERE deadline_at <= ? AND ${LIVE} ORDER BY deadline_at LIMIT ?`,
  );
  const expired = db.prepare<[number, number], Expired>(
    `SELECT row, entries + events AS rows FROM task WHERE expires_at <= ? AND ${ENDED} ORDER BY expires_at LIMIT ?`,
  );
  // Nothing expires before its deadline.
  const expiredLive = db.prepare<[number, number, number], Expired>(
    `SELECT row, entries + events AS rows FROM task
     WHERE deadline_at <= ? AND expires_at <= ? AND ${LIVE} ORDER BY deadline_at LIMIT ?`,
  );
  const live = db
    .prepare<[string], number>(`SELECT count(*) FROM task WHERE principal = ? AND root IS NULL AND ${LIVE}`)
    .pluck();
  const children = db
    .prepare<[number, number], number>('SELECT row FROM task WHERE parent = ? ORDER BY created_at, row LIMIT ?')
    .pluck();
  const liveDescendants = db.prepare<[number], number>(LIVE_DESCENDANTS).pluck();
  const asking = db
    .prepare<[number], number>(
      `SELECT row FROM task WHERE root = ? AND status = 'input_required' ORDER BY created_at, row`,
    )
    .pluck();
  const progressBelow = db.prepare<[number], { done: number | null; total: number | null }>(PROGRESS_BELOW);
  const listed = db.prepare<[string, TaskStatus, number, number, number], ListPlace>(
    `SELECT row, created_at AS createdAt FROM task
     WHERE principal = ? AND status = ? AND root IS NULL AND (created_at, row) < (?, ?)
     ORDER BY created_at DESC, row DESC LIMIT ?`,
  );
  const listPlace = db.prepare<[number, Buffer, string], ListPlace>(
    `SELECT row, created_at AS createdAt FROM task WHERE row = ? AND nonce = ? AND principal = ? AND root IS NULL`,
  );

  return {
    due: (after: number, until: number): DuePlace[] => due.all(after, until),
    held: (): Place[] => held.all(),
    overdue: (now: number, limit: number): Place[] => overdue.all(now, limit),
    live: (principal: string): number => live.get(principal)!,
    // To SQLite a negative limit is none.
    children: (row: number, limit = -1): number[] => children.all(row, limit),
    liveDescendants: (row: number): number[] => liveDescendants.all(row),
    progressBelow(row: number): Progress | undefined {
      const { done, total } = progressBelow.get(row)!;
      return total === null ? undefined : { done: done!, total };
    },
    asking: (root: number): number[] => asking.all(root),
    /** As many as can be removed without holding everybody up. */
    expired(now: number, limit: number): number[] {
      const found = expired.all(now, limit);
      if (found.length < limit) found.push(...expiredLive.all(now, now, limit - found.length));
      let left = MOST_EXPIRED;
      return found.filter(({ rows }, index) => index === 0 || (left -= rows) > 0).map(({ row }) => row);
    },
    list(principal: string, statuses: readonly TaskStatus[], after: Place | undefined, limit: number): number[] {
      const from = (after && listPlace.get(after.row, after.nonce, principal)) ?? LATEST;
      // Each status is a list in itself: a page of all is the best of the first pages of each.
      return statuses
        .flatMap((status) => listed.all(principal, status, from.createdAt, from.row, limit))
        .sort((one, other) => other.createdAt - one.createdAt || other.row - one.row)
        .slice(0, limit)
        .map(({ row }) => row);
    },
  };
}

const PROGRESS_BELOW = `
  SELECT sum(weight * CASE WHEN ${ENDED} THEN 1 WHEN total > 0 THEN done / total ELSE 0 END) AS done, sum(weight) AS total
  FROM (
    SELECT status, ifnull(json_extract(origin, '$.parent.weight'), 1) AS weight,
      json_extract(more, '$.progress.done') * 1.0 AS done, json_extract(more, '$.progress.total') AS total
    FROM task JOIN call USING (row) WHERE parent = ?
  )`;

/** Later than any task. */
const LATEST: ListPlace = { row: 0, createdAt: Infinity };

// CROSS, because SQLite would rather walk over all live tasks.
const LIVE_DESCENDANTS = `
  WITH RECURSIVE descendant (row) AS (
    SELECT row FROM task WHERE parent = ?
    UNION ALL
    SELECT task.row FROM descendant JOIN task ON task.parent = descendant.row
  )
  SELECT row FROM descendant CROSS JOIN task USING (row) WHERE ${LIVE} ORDER BY created_at, row`;
