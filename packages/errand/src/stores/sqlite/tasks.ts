import type { Database } from 'better-sqlite3';
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Input, InputCapabilities } from '../../task/input.ts';
import type { Progress, Task, TaskOutcome, TaskStatus } from '../../task/task.ts';
import { isSameNonce, type Place } from './ids.ts';
import { parsed } from './trouble.ts';

/** A task as it stands in the file, how long its journal is, and how many characters its texts take. */
export interface StoredTask {
  readonly task: Task;
  readonly entries: number;
  readonly length: number;
}

/** Where a due task is, and since when it is due. */
export interface DuePlace extends Place {
  readonly wakeAt: number;
}

const LIVE = `status IN ('working', 'input_required')`;

/** The statements on the tables `task` and `call`. */
export type TaskTable = ReturnType<typeof taskTable>;

export function taskTable(db: Database) {
  const select = db.prepare<[number, string | null], TaskRow>(SELECT).raw();
  const insertTask = db.prepare(INSERT_TASK);
  const insertCall = db.prepare(INSERT_CALL);
  const update = db.prepare(UPDATE);
  const nonceOf = db.prepare<[number], Buffer>('SELECT nonce FROM task WHERE row = ?').pluck();
  const due = db.prepare<[number, number], DuePlace>(
    `SELECT row, nonce, wake_at AS wakeAt FROM task WHERE wake_at > ? AND wake_at <= ? AND ${LIVE} ORDER BY wake_at, row`,
  );
  const held = db.prepare<[], Place>(
    `SELECT row, nonce FROM task INDEXED BY task_held WHERE held IS NOT NULL AND ${LIVE}`,
  );
  const overdue = db.prepare<[number, number], Place>(
    `SELECT row, nonce FROM task WHERE deadline_at <= ? AND ${LIVE} ORDER BY deadline_at LIMIT ?`,
  );
  const live = db.prepare<[string], number>(`SELECT count(*) FROM task WHERE principal = ? AND ${LIVE}`).pluck();
  const expire = db.prepare<[number, number]>(
    'DELETE FROM task WHERE row IN (SELECT row FROM task WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)',
  );

  const wakeBy = db.prepare<[number, number, number]>(
    `UPDATE task SET wake_at = ? WHERE wake_at > ? AND wake_at <= ? AND ${LIVE}`,
  );

  return {
    /** Makes tasks due at `now` that were due at a later time, by a clock that was ahead of this one. */
    wakeBy(now: number, later: number): void {
      wakeBy.run(now, now, later);
    },
    /** With an `owner`, the texts of a task that is another's are not even taken from the file. */
    read(id: string, { row, nonce }: Place, owner?: string): StoredTask | undefined {
      const found = select.get(row, owner ?? null);
      return found !== undefined && isSameNonce(found[0], nonce)
        ? { task: taskOf(id, found), entries: found[1], length: lengthOf(found) }
        : undefined;
    },
    has({ row, nonce }: Place): boolean {
      const found = nonceOf.get(row);
      return found !== undefined && isSameNonce(found, nonce);
    },
    /** Gives how many characters its texts take. Throws where the row is taken. */
    insert({ row, nonce }: Place, task: Task, entries: number): number {
      const { principal, createdAt, deadlineAt, expiresAt } = task;
      const state = stateOf(task);
      insertTask.run(row, nonce, principal, createdAt, deadlineAt, expiresAt, entries, task.version, ...state);
      const { tool, toolVersion, seed, prepared, capabilities } = task;
      const call = [tool, toolVersion, seed, JSON.stringify(task.arguments), json(prepared), members(capabilities)];
      insertCall.run(row, ...call);
      return lengthOf(state) + lengthOf(call);
    },
    /** Writes the next state over the one of the version before. Gives how many characters its texts take, or `undefined` where that was not there. */
    update({ row }: Place, task: Task, entries: number): number | undefined {
      const state = stateOf(task);
      const { changes } = update.run(entries, task.version, ...state, row, task.version - 1);
      return changes === 1 ? lengthOf(state) : undefined;
    },
    expire: (now: number, limit: number): number => expire.run(now, limit).changes,
    due: (after: number, until: number): DuePlace[] => due.all(after, until),
    held: (): Place[] => held.all(),
    overdue: (now: number, limit: number): Place[] => overdue.all(now, limit),
    live: (principal: string): number => live.get(principal)!,
  };
}

function lengthOf(row: readonly unknown[]): number {
  return row.reduce<number>((sum, value) => (typeof value === 'string' ? sum + value.length : sum), 0);
}

/** What a change may write, in the order of `stateOf`. */
const STATE = [
  'status',
  'status_message',
  'progress_done',
  'progress_total',
  'inputs',
  'outcome',
  'last_updated_at',
  'poll_interval_ms',
  'epoch',
  'wake_at',
  'runs',
  'held',
];

const INSERT_TASK = `
  INSERT INTO task (row, nonce, principal, created_at, deadline_at, expires_at, entries, version, ${STATE.join(', ')})
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ${STATE.map(() => '?').join(', ')})`;

const INSERT_CALL = `
  INSERT INTO call (row, tool, tool_version, seed, arguments, prepared, capabilities) VALUES (?, ?, ?, ?, ?, ?, ?)`;

const UPDATE = `
  UPDATE task SET entries = ?, version = ?, ${STATE.map((column) => `${column} = ?`).join(', ')}
  WHERE row = ? AND version = ?`;

const SELECT = `
  SELECT nonce, entries, version, principal, created_at, deadline_at, expires_at, ${STATE.join(', ')},
    tool, tool_version, seed, arguments, prepared, capabilities
  FROM task JOIN call USING (row) WHERE row = ? AND principal = ifnull(?, principal)`;

type TaskRow = [
  nonce: Buffer,
  entries: number,
  version: number,
  principal: string,
  createdAt: number,
  deadlineAt: number,
  expiresAt: number,
  status: TaskStatus,
  statusMessage: string | null,
  progressDone: number | null,
  progressTotal: number | null,
  inputs: string | null,
  outcome: string | null,
  lastUpdatedAt: number,
  pollIntervalMs: number,
  epoch: number,
  wakeAt: number | null,
  runs: number,
  held: string | null,
  tool: string,
  toolVersion: string,
  seed: string,
  args: string,
  prepared: string | null,
  capabilities: string | null,
];

function stateOf(task: Task): (string | number | null)[] {
  return [
    task.status,
    task.statusMessage ?? null,
    task.progress?.done ?? null,
    task.progress?.total ?? null,
    members(task.inputs),
    json(task.outcome),
    task.lastUpdatedAt,
    task.pollIntervalMs,
    task.epoch,
    task.wakeAt ?? null,
    task.runs,
    task.held ?? null,
  ];
}

// prettier-ignore
function taskOf(id: string, [
  , , version, principal, createdAt, deadlineAt, expiresAt, status, statusMessage, done, total, inputs, outcome,
  lastUpdatedAt, pollIntervalMs, epoch, wakeAt, runs, held, tool, toolVersion, seed, args, prepared, capabilities,
]: TaskRow): Task {
  return {
    id, version, principal, tool, toolVersion,
    arguments: parsed(args) as JsonObject,
    ...(prepared === null ? {} : { prepared: parsed(prepared) as JsonValue }),
    seed,
    capabilities: capabilities === null ? {} : parsed(capabilities) as InputCapabilities,
    status,
    ...(statusMessage === null ? {} : { statusMessage }),
    ...(done === null ? {} : { progress: progressOf(done, total) }),
    inputs: inputs === null ? {} : parsed(inputs) as Record<string, Input>,
    ...(outcome === null ? {} : { outcome: parsed(outcome) as TaskOutcome }),
    createdAt, lastUpdatedAt, deadlineAt, expiresAt, pollIntervalMs, epoch,
    ...(wakeAt === null ? {} : { wakeAt }),
    runs,
    ...(held === null ? {} : { held }),
  };
}

function progressOf(done: number, total: number | null): Progress {
  return total === null ? { done } : { done, total };
}

function json(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

/** An object without members is kept as nothing, which costs nothing to read. */
function members(value: object): string | null {
  return Object.keys(value).length === 0 ? null : JSON.stringify(value);
}
