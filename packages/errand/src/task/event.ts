import type { JsonValue } from '../json.ts';
import type { Failure } from './journal.ts';
import type { Progress, TaskStatus } from './task.ts';

/** What can happen to a task between its creation and its end. */
export type LoggedEvent =
  /** A run of the handler began; `replays` says whether it walks over a journal first. */
  | { readonly kind: 'started'; readonly replays: boolean }
  /** A run that only waits was let go of. */
  | { readonly kind: 'parked' }
  | { readonly kind: 'step_begun'; readonly name: string; readonly ordinal: number }
  | { readonly kind: 'step_ended'; readonly name: string; readonly ordinal: number; readonly failure?: Failure }
  /** A step failed and is tried again; `attempt` is the one that failed. */
  | {
      readonly kind: 'step_retried';
      readonly name: string;
      readonly ordinal: number;
      readonly attempt: number;
      readonly failure: Failure;
    }
  | { readonly kind: 'slept'; readonly until: number }
  | { readonly kind: 'asked'; readonly key: string }
  | { readonly kind: 'answered'; readonly keys: readonly string[] }
  | { readonly kind: 'withdrawn'; readonly key: string }
  | { readonly kind: 'progress'; readonly progress?: Progress; readonly message?: string }
  | { readonly kind: 'subtask'; readonly key: string; readonly taskId: string; readonly tool: string }
  | { readonly kind: 'subtask_ended'; readonly key: string; readonly taskId: string; readonly status: TaskStatus }
  /** A whole run failed, and is tried again at `at`. */
  | { readonly kind: 'retried'; readonly attempt: number; readonly failure: Failure; readonly next: number }
  | { readonly kind: 'paused'; readonly reason?: string }
  | { readonly kind: 'resumed' }
  | { readonly kind: 'steered'; readonly message: JsonValue }
  | { readonly kind: 'held'; readonly reason: string }
  | { readonly kind: 'released' }
  | { readonly kind: 'cancel_asked' }
  | { readonly kind: 'deadline_passed' }
  /** Older events of progress were left out here, to keep the log within its size. */
  | { readonly kind: 'thinned'; readonly count: number };

/** One line of a task's event log as the store keeps it. Numbers start at 1 and only grow; thinning leaves gaps. */
export type StoredEvent = LoggedEvent & {
  readonly seq: number;
  /** When, in ms since the epoch. */
  readonly at: number;
};

/**
 * One line of the log as it reads: what the store keeps, between the creation (number 0) and the end,
 * which the record of the task tells by itself.
 */
export type TaskEvent =
  | StoredEvent
  | { readonly seq: 0; readonly at: number; readonly kind: 'created'; readonly tool: string }
  | { readonly seq: number; readonly at: number; readonly kind: 'ended'; readonly status: TaskStatus };
