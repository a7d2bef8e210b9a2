import { StaleJournal, type Change } from '../store.ts';
import type { JournalEntry } from '../task/journal.ts';
import { isTerminal, type Task } from '../task/task.ts';

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
  'parent',
  'scopes',
  'idempotency',
  'traceparent',
  'birth',
  'cleanUp',
  'cleansUp',
  'createdAt',
  'deadlineAt',
  'expiresAt',
] as const satisfies readonly (keyof Task)[];

/**
 * The state that a change leads to from `task`, one version on; `undefined` where it changes
 * nothing. Throws where it touches what is fixed.
 */
export function changed(task: Task, change: Change | undefined): Task | undefined {
  if (change === undefined || (change.task === task && isBare(change))) return undefined;
  const next = { ...change.task, version: task.version + 1, events: task.events + (change.events?.length ?? 0) };
  // Of the copy: transitions make objects of many shapes, in which to look things up takes long.
  for (const field of FIXED) {
    if (next[field] !== task[field]) throw new TypeError(`${field} of a task is fixed when it is made`);
  }
  return next;
}

/** A task as it is kept first. Throws where it could not be found again when its time has come. */
export function begun(task: Task, events: Change['events']): Task {
  if (task.expiresAt < task.deadlineAt) throw new RangeError('a task cannot vanish before its deadline');
  return events === undefined || events.length === 0 ? task : { ...task, events: task.events + events.length };
}

/**
 * The state of a task that becomes due at `now`, or was due before; one version on in any case, so that whoever
 * lets go of it knows that something happened. `undefined` where no run would help it.
 */
export function woken(task: Task, now: number): Task | undefined {
  if (isTerminal(task) || task.held !== undefined) return undefined;
  return { ...task, wakeAt: Math.min(task.wakeAt ?? now, now), version: task.version + 1 };
}

/** Throws unless the entries go on, without a gap, where a journal of `length` entries ends. */
export function assertNext(entries: readonly JournalEntry[], length: number): void {
  for (let index = 0; index < entries.length; index++) {
    const { seq } = entries[index]!;
    if (seq !== length + index) throw new StaleJournal(length + index, seq);
  }
}

/** The error of a second task under one id. */
export function idTaken(id: string): Error {
  return new Error(`there is a task of the id ${id} already`);
}

/** The error of a subtask whose idempotency key its principal has used. */
export function keyTaken(id: string): Error {
  return new Error(`the idempotency key of ${id} is taken`);
}

function isBare({ entries = [], events = [], subtasks = [], wakes }: Change): boolean {
  return entries.length === 0 && events.length === 0 && subtasks.length === 0 && wakes === undefined;
}
