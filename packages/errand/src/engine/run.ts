import type { Logger } from 'pino';
import type { Limits } from '../limits.ts';
import type { Task } from '../task/task.ts';
import type { Journal } from './journal.ts';

/** One execution of a handler, as far as the calls of the handler need it. */
export interface Run {
  readonly journal: Journal;
  /** The latest state of the task that this run knows of. */
  readonly task: Task;
  /** Whether a task was promised that is not on disk yet. */
  readonly pending: boolean;
  /** Aborted when the task is cancelled or its deadline passes. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly limits: Limits;
  /** The store's clock, ms since the epoch. */
  now(): number;
  /**
   * Commits a transition of the task together with what the journal has not written yet, and
   * resolves with the state after it. Rejects with `LeaseLost` where the run may no longer write.
   */
  write(transition: (task: Task, now: number) => Task): Promise<Task>;
  /** Shows a text to whoever looks at the task, soon; of several at once the last one. */
  describe(message: string): void;
  /** Sees to it that a call which may last has a task on disk, before it waits. */
  persist(cause: 'input' | 'sleep'): void;
  /** Calls `action` at a time (ms since the epoch), unless the run is over by then. Returns how to stop it. */
  at(time: number, action: () => void): () => void;
  /** Calls `action` in `ms` of engine time, unless the run is over by then. Returns how to stop it. */
  after(ms: number, action: () => void): () => void;
  /** Says to the clock that `work` is under way. Returns how to say that it is over. */
  busy(work: object): () => void;
  /** Calls `listener` whenever a later state of the task is known, while the run lasts. Returns how to stop. */
  onTask(listener: (task: Task) => void): () => void;
  /** Ends the run because of something that the handler cannot deal with, such as a store that is away. */
  abandon(cause: unknown): void;
}
