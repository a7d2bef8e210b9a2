import type { Change } from '../store.ts';
import type { JournalEntry } from '../task/journal.ts';
import type { Task } from '../task/task.ts';

/*
 * What every store checks before it writes, so that no store takes what another one refuses.
 */

/** What is written once, when a task is made. A store may keep it apart and never write it again. */
const FIXED = [
  'id',
  'principal',
  'tool',
  'toolVersion',
  'arguments',
  'prepared',
  'seed',
  'capabilities',
  'createdAt',
  'deadlineAt',
  'expiresAt',
] as const satisfies readonly (keyof Task)[];

/**
 * The state that a change leads to from `task`, one version on; `undefined` where it changes
 * nothing. Throws where it touches what is fixed.
 */
export function changed(task: Task, change: Change | undefined): Task | undefined {
  if (change === undefined) return undefined;
  if (change.task === task && (change.entries ?? []).length === 0) return undefined;
  for (const field of FIXED) {
    if (change.task[field] !== task[field]) throw new TypeError(`${field} of a task is fixed when it is made`);
  }
  return { ...change.task, version: task.version + 1 };
}

/** Throws unless the entries go on, without a gap, where a journal of `length` entries ends. */
export function assertNext(entries: readonly JournalEntry[], length: number): void {
  for (const [index, { seq }] of entries.entries()) {
    if (seq !== length + index) throw new RangeError(`the journal goes on at ${length + index}, not at ${seq}`);
  }
}

/** The error of a second task under one id. */
export function idTaken(id: string): Error {
  return new Error(`there is a task of the id ${id} already`);
}
