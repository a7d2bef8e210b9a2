import type { JournalEntry } from './task/journal.ts';
import type { Task } from './task/task.ts';

/** What a command makes of a task: its next state, and what the journal gains in the same commit. */
export interface Change {
  readonly task: Task;
  readonly entries?: readonly JournalEntry[];
}

/**
 * Decides on the latest state of a task inside the transaction. Must be pure and quick, and may
 * be called again with a later state. Returns `undefined` to leave the task as it is; a throw
 * fails this command alone, and none that shares its commit.
 */
export type Decide = (task: Task) => Change | undefined;

/** A task that a run should look at. */
export interface Due {
  readonly id: string;
  readonly wakeAt: number;
}

/** Hears of the latest state of each task that a commit changed, after that commit. */
export type StoreListener = (task: Task) => void;

/**
 * Where task records live.
 *
 * Commands that arrive in one iteration of the event loop share one commit; a promise settles
 * only after it. Nobody sees anything before. When a commit fails, every command in it fails
 * with `StoreError` and the store goes on.
 */
export interface Store {
  /** Makes the store ready: creates what is missing, migrates what is older. */
  open(): Promise<void>;
  /** Ends the store's life after the commits that are under way. */
  close(): Promise<void>;
  /** The store's clock in ms since the epoch; it never goes back. */
  now(): number;
  /** A task id that was never given before: at least 128 random bits, header-safe, in no visible order. */
  newId(): string;
  /** Key material (32 bytes) for sealing what clients carry; the same for every process on this store. */
  secret(): Promise<Uint8Array>;

  /** Keeps a new task, with the journal it already has. */
  create(task: Task, entries?: readonly JournalEntry[]): Promise<Task>;
  /** The committed state of a task, or `undefined` where there is none of that id. */
  read(id: string): Promise<Task | undefined>;
  /** Changes a task. Resolves with its state after the commit, or `undefined` where there is none. */
  change(id: string, decide: Decide): Promise<Task | undefined>;
  /** A task's journal in order. */
  journal(id: string): Promise<JournalEntry[]>;

  /** Live tasks whose `wakeAt` lies after `after` and not after `until`, oldest first. */
  due(after: number, until: number): Promise<Due[]>;
  /** Ids of live tasks that are held, so that new code can be tried on them. */
  held(): Promise<string[]>;
  /** Ids of live tasks whose deadline is not after `now`, at most `limit`. */
  overdue(now: number, limit: number): Promise<string[]>;
  /** Removes tasks whose `expiresAt` is not after `now`, at most `limit`; resolves with how many. */
  expire(now: number, limit: number): Promise<number>;
  /** How many live tasks a principal has. */
  live(principal: string): Promise<number>;

  /** Calls `listener` after each commit, once a changed task. Returns how to stop. */
  subscribe(listener: StoreListener): () => void;
}
