import type { Logger } from 'pino';
import type { RegisteredTool } from './registry.ts';
import type { Limits } from '../limits.ts';
import type { LoggedEvent } from '../task/event.ts';
import type { Progress, Task } from '../task/task.ts';
import type { RunTrace } from '../telemetry.ts';
import type { Journal } from './journal.ts';

/** The other tasks of the store, as far as a run deals with them. */
export interface Kin {
  /** A tool of this server. */
  tool(name: string): RegisteredTool | undefined;
  newId(): string;
  read(id: string): Promise<Task | undefined>;
  /** Calls `listener` with later and later states of a task. Returns how to stop. */
  watch(id: string, listener: (task: Task) => void): () => void;
  /** Lets a subtask run that waited for others. */
  unblock(id: string): Promise<unknown>;
  /** Ends a task and its descendants as cancelled. */
  cancel(id: string): Promise<unknown>;
}

/** One execution of a handler, as far as the calls of the handler need it. */
export interface Run {
  readonly journal: Journal;
  /** The latest state of the task that this run knows of. */
  readonly task: Task;
  /** Whether a task was promised that is not on disk yet. */
  readonly pending: boolean;
  /** Aborted when the task is cancelled or its deadline passes. */
  readonly signal: AbortSignal;
  /** Whether the server closes: no effect begins any more. */
  readonly draining: boolean;
  readonly log: Logger;
  /** Where the run is told of; absent where nobody listens. */
  readonly trace: RunTrace | undefined;
  readonly limits: Limits;
  /** The store's clock, ms since the epoch. */
  now(): number;
  /**
   * Commits a transition of the task together with what the journal has not written yet, and
   * resolves with the state after it. Rejects with `LeaseLost` where the run may no longer write.
   */
  write(transition: (task: Task, now: number) => Task): Promise<Task>;
  /** Shows something to whoever looks at the task, soon; of several at once the last one. */
  show(shown: { readonly message?: string; readonly progress?: Progress }): void;
  /** Sees to it that a call which may last has a task on disk, before it waits. */
  persist(cause: 'wait' | 'sleep'): void;
  /** Resolves when nothing of the task is paused. `undefined` where nothing is. */
  resumed(): Promise<void> | undefined;
  /** Has the event log tell of something, with the next write. */
  note(event: LoggedEvent): void;
  readonly kin: Kin;
  /** Keeps a subtask with the next write, soon. Resolves once it is on disk. */
  spawn(subtask: Task): Promise<unknown>;
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
