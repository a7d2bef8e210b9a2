import type { Change } from '../store.ts';
import { cleanUpAfter } from '../task/clean-up.ts';
import type { Task } from '../task/task.ts';
import { cancel, finish } from '../task/transitions.ts';
import { deadlinePassed } from './failures.ts';

/*
 * How a task ends, wherever that is decided. Cancel and deadline are decided on a task and each of
 * its live descendants in one commit (`Store.changeTree`; S-10, S-11, S-12), the task first.
 */

/**
 * The change that ends a task, with what else it keeps: `next` is its terminal state, or the very same
 * task where it had ended before, and then there is nothing to change. Its parent becomes due in the
 * same commit, so that no end goes unheard; and where its tool wants to clean up, the task that does it
 * is made.
 */
export function ending(
  task: Task,
  next: Task,
  beside: Pick<Change, 'entries' | 'events' | 'subtasks'> = {},
): Change | undefined {
  if (next === task) return undefined;
  if (task.parent === undefined && task.cleanUp === undefined) return { ...beside, task: next };
  return {
    ...beside,
    task: next,
    ...(task.parent && { wakes: task.parent.id }),
    ...(task.cleanUp && { subtasks: [...(beside.subtasks ?? []), cleanUpAfter(next, next.lastUpdatedAt)] }),
  };
}

/** Ends a task because nobody wants it any more. */
export function cancelling(task: Task, now: number): Change | undefined {
  return ending(task, cancel(task, now), { events: [{ kind: 'cancel_asked' }] });
}

/** Ends a task because its own deadline has passed, or that of the task above it that `deadlineAt` is. */
export function timingOut(task: Task, deadlineAt: number, now: number): Change | undefined {
  const { code, message } = deadlinePassed(deadlineAt);
  const next = finish(task, { kind: 'error', error: { code, message } }, now);
  return ending(task, next, { events: [{ kind: 'deadline_passed' }] });
}
