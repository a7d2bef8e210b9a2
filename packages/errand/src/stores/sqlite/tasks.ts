import type { Database } from 'better-sqlite3';
import type { Task } from '../../task/task.ts';
import type { Thinned } from '../log.ts';
import { isSameNonce, type Ids, type Place } from './ids.ts';
import { LIVE } from './queries.ts';
import {
  callOf,
  COLUMNS,
  isFoundAlike,
  lengthOf,
  onceOf,
  SEARCHED,
  pushSearched,
  STATE,
  stateOf,
  storedTask,
  type StoredTask,
  type TaskRow,
} from './row.ts';

/** The statements on the tables `task` and `call`. */
export type TaskTable = ReturnType<typeof taskTable>;

export function taskTable(db: Database, ids: Ids) {
  const select = db.prepare<[number, string | null], TaskRow>(SELECT).raw();
  const insertTask = db.prepare(INSERT_TASK);
  const insertCall = db.prepare(INSERT_CALL);
  const update = db.prepare(`${UPDATE} WHERE row = ? AND version = ?`);
  const updateSearched = db.prepare(`${UPDATE}, ${assigned(SEARCHED)} WHERE row = ? AND version = ?`);
  const wake = db.prepare<[number, number, number, Buffer]>(WAKE);
  const wakeBy = db.prepare<[number, number, number]>(WAKE_BY);
  const nonceOf = db.prepare<[number], Buffer>('SELECT nonce FROM task WHERE row = ?').pluck();
  const withKey = db.prepare<[string], number>('SELECT row FROM call WHERE once = ?').pluck();
  const removals = ['task', 'call', 'journal', 'event'].map((table) =>
    db.prepare<[string]>(`DELETE FROM ${table} WHERE row IN (SELECT value FROM json_each(?))`),
  );

  /** With an `owner`, the texts of a task that is another's are not even taken from the file. */
  function read(id: string, place: Place, owner?: string): StoredTask | undefined {
    const found = select.get(place.row, owner ?? null);
    return found !== undefined && isSameNonce(found[0], place.nonce) ? storedTask(id, place, found) : undefined;
  }

  function readRow(row: number): StoredTask | undefined {
    const found = select.get(row, null);
    if (found === undefined) return undefined;
    const place = { row, nonce: found[0] };
    return storedTask(ids.seal(place), place, found);
  }

  return {
    read,
    readRow,
    has({ row, nonce }: Place): boolean {
      const found = nonceOf.get(row);
      return found !== undefined && isSameNonce(found, nonce);
    },
    /** The task of a principal and a tool that was made under an idempotency key. */
    withKey(principal: string, tool: string, key: string): StoredTask | undefined {
      const row = withKey.get(onceOf(principal, tool, key));
      return row === undefined ? undefined : readRow(row);
    },
    /** Gives how it stands then; `opening` is what its event log begins with. Throws where the row is taken, or the idempotency key. */
    insert(place: Place, task: Task, entries: number, opening: string | undefined): StoredTask {
      const { row, nonce } = place;
      const { principal, parent, createdAt, deadlineAt, expiresAt } = task;
      const root = parent === undefined ? null : ids.rowOf(parent.root);
      const over = parent === undefined ? null : ids.rowOf(parent.id);
      const values = stateOf(task, entries, undefined);
      pushSearched(values, task);
      values.push(row, nonce, principal, root, over, createdAt, deadlineAt, expiresAt);
      const call = callOf(task);
      call.push(opening ?? null, row);
      insertTask.run(...values);
      insertCall.run(...call);
      return { task, place, entries, thinned: undefined, length: lengthOf(values) + lengthOf(call) };
    },
    /** Writes the next state over the one before, and gives how it stands then; `undefined` where that was not there. */
    update(before: StoredTask, task: Task, entries: number, thinned: Thinned | undefined): StoredTask | undefined {
      const { place } = before;
      const values = stateOf(task, entries, thinned);
      const isSearchedFor = !isFoundAlike(before.task, task);
      if (isSearchedFor) pushSearched(values, task);
      values.push(place.row, before.task.version);
      const { changes } = (isSearchedFor ? updateSearched : update).run(...values);
      // What is counted anew each time is made good when the task is read from the file.
      return changes === 1 ? { task, place, entries, thinned, length: before.length + lengthOf(values) } : undefined;
    },
    /** Makes a task due at `now` that is not, where a run can help it. Gives whether it did. */
    wake: ({ row, nonce }: Place, now: number): boolean => wake.run(now, now, row, nonce).changes === 1,
    /** Makes tasks due at `now` that were due at a later time, by a clock that was ahead of this one. */
    wakeBy: (now: number, later: number): void => void wakeBy.run(now, now, later),
    /** Removes all there is of tasks. */
    remove(rows: readonly number[]): void {
      const list = JSON.stringify(rows);
      for (const removal of removals) removal.run(list);
    },
  };
}

const assigned = (columns: readonly string[]) => columns.map((column) => `${column} = ?`).join(', ');
const places = (columns: readonly string[]) => columns.map(() => '?').join(', ');

const FIXED = ['row', 'nonce', 'principal', 'root', 'parent', 'created_at', 'deadline_at', 'expires_at'];
const WRITTEN = [...STATE, ...SEARCHED, ...FIXED];
const CALL = [
  'tool',
  'tool_version',
  'seed',
  'arguments',
  'prepared',
  'capabilities',
  'origin',
  'once',
  'opening',
  'row',
];

const SELECT = `SELECT ${COLUMNS} FROM task JOIN call USING (row) WHERE row = ? AND principal = ifnull(?, principal)`;
const INSERT_TASK = `INSERT INTO task (${WRITTEN.join(', ')}) VALUES (${places(WRITTEN)})`;
const INSERT_CALL = `INSERT INTO call (${CALL.join(', ')}) VALUES (${places(CALL)})`;
const UPDATE = `UPDATE task SET ${assigned(STATE)}`;

const WAKE = `
  UPDATE task SET wake_at = min(ifnull(wake_at, ?), ?), version = version + 1
  WHERE row = ? AND nonce = ? AND ${LIVE} AND held IS NULL`;
const WAKE_BY = `UPDATE task SET wake_at = ? WHERE wake_at > ? AND wake_at <= ? AND paused IS NULL AND ${LIVE}`;
