import type { Task, TaskOutcome } from './task/task.ts';

/**
 * How a call that had no task yet came out: it ended, or it was written down as a task and goes
 * on as one.
 */
export type AttemptOutcome =
  { readonly kind: 'ended'; readonly outcome: TaskOutcome } | { readonly kind: 'task'; readonly task: Task };

/** A call that runs before there is a task, with its journal in memory. */
export interface Attempt {
  /** Rejects only where the task could not be written. */
  readonly outcome: Promise<AttemptOutcome>;
  /** Calls `listener` with later and later states of the task, until the call is over. Returns how to stop. */
  watch(listener: (task: Task) => void): () => void;
  /** Writes the task and its journal down now, if the call still runs. */
  persist(): void;
  /** Ends the call without a trace, unless it is a task by now. */
  abandon(): void;
}

/** What an executor has in hand. */
export interface Load {
  /** Runs in memory, also those that wait. */
  readonly active: number;
  /** Runs that wait for a slot. */
  readonly queued: number;
  /** Tasks that are on record and that it runs, or is about to run. */
  readonly tasks: number;
}

/** What runs handlers durably. It learns of tasks from the store that it was made for. */
export interface Executor {
  /** Takes up what is due, and goes on doing so. */
  start(): Promise<void>;
  /**
   * Runs a call whose task is not written yet. It becomes a task when it asks, and, where
   * `sleepPersists`, when it sleeps: nothing was promised before that.
   */
  attempt(task: Task, options: { readonly sleepPersists: boolean }): Attempt;
  /** How many runs wait for a slot. */
  readonly queued: number;
  /** How many more runs of a tool could begin at once. */
  free(tool: string): number;
  /** Whether it has a task in hand: it runs, or waits for a slot. */
  has(taskId: string): boolean;
  /** What there is to run and running; `undefined` where another process runs the tasks. */
  readonly load: Load | undefined;
  /** Begins nothing more, no other step of what runs either, and waits for running steps: `graceMs` at most. */
  close(graceMs: number): Promise<void>;
  /** Stops dead, as if the process were killed: nothing is begun or written any more, and nobody hears of it. */
  halt(): void;
}
