import type { LoggedEvent, StoredEvent } from './task/event.ts';
import type { JournalEntry } from './task/journal.ts';
import type { Progress, Task, TaskStatus } from './task/task.ts';

/** What a command makes of a task: its next state, and what else is kept in the same commit. */
export interface Change {
  readonly task: Task;
  readonly entries?: readonly JournalEntry[];
  /** What the event log gains. */
  readonly events?: readonly LoggedEvent[];
  /** Tasks that come of this one: its subtasks, or its clean-up. They are new: a second one under an id is refused, and the change with it. */
  readonly subtasks?: readonly Task[];
  /** Another live task that becomes due now, if it is not, and one version older in any case. A held one stays as it is. */
  readonly wakes?: string;
}

/** A new task, and what is kept with it from the start. */
export interface Creation {
  readonly task: Task;
  readonly entries?: readonly JournalEntry[];
  readonly events?: readonly LoggedEvent[];
  readonly subtasks?: readonly Task[];
}

/** Which tasks of a principal are listed. */
export interface ListOptions {
  /** The id that the page before ended with. */
  readonly after?: string;
  readonly limit: number;
  /** Only tasks of these statuses. */
  readonly statuses?: readonly TaskStatus[];
}

/**
 * Decides on the latest state of a task inside the transaction. Must be pure and quick, and may
 * be called again with a later state. Returns `undefined`, or the very same task with nothing
 * beside it, to leave the task as it is; a throw fails this command alone, and none that shares its
 * commit. The store raises `version`, and `events` by the number of events. Fields that are fixed
 * at creation stay as they were, else the change is refused with a `TypeError`; entries go on where
 * the journal ends, else it is with `StaleJournal`.
 */
export type Decide = (task: Task) => Change | undefined;

/** The entries of a change do not go on where the journal ends: somebody else has written it on, or they come twice. */
export class StaleJournal extends RangeError {
  override readonly name = 'StaleJournal';

  constructor(next: number, given: number) {
    super(`the journal goes on at ${next}, not at ${given}`);
  }
}

/** A task that a run should look at. */
export interface Due {
  readonly id: string;
  readonly wakeAt: number;
}

/** Hears of the latest state of each task that a commit changed, after that commit. */
export type StoreListener = (task: Task) => void;

/** A commit, as it is measured. */
export interface StoreCommit {
  /** How long it took, in ms. */
  readonly ms: number;
  /** How many commands shared it. */
  readonly commands: number;
  /** Whether nothing of it is kept. */
  readonly failed: boolean;
}

/** How many live tasks there are of each status. */
export type LiveCounts = Readonly<Record<'working' | 'input_required', number>>;

/** What every store takes. */
export interface StoreOptions {
  /** The time in ms since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
}

/**
 * Where task records live.
 *
 * Commands that arrive in one iteration of the event loop share one commit; a promise settles
 * only after it. Nobody sees anything before. When a commit fails, every command in it fails
 * with an `ErrandError` of kind `storeAway`, and the store goes on. Outside `open` and `close`
 * every method but `now` fails in that way, too.
 */
export interface Store {
  /** Makes the store ready: creates what is missing, migrates what is older. */
  open(): Promise<void>;
  /** Ends the store's life after the commits that are under way. It can be opened again. */
  close(): Promise<void>;
  /** The store's clock in ms since the epoch; it never goes back. */
  now(): number;
  /** A task id that was never given before: at least 128 random bits, header-safe, in no visible order. */
  newId(): string;
  /** Key material (32 bytes) for sealing what clients carry; the same for every process on this store. */
  secret(): Promise<Uint8Array>;

  /**
   * Keeps a new task under an id of `newId`, with the journal and the events it already has. `make` is called inside
   * the transaction, and may be called again; what happened to the task until then is part of its creation. Rejects
   * where the id is taken. Where the principal has a task of the same tool and idempotency key, nothing is kept, and
   * that task is what it resolves with.
   */
  create(make: () => Creation): Promise<Task>;
  /**
   * The committed state of a task, or `undefined` where there is none of that id. With an `owner`, the key of a
   * principal, tasks of others are not there either, and cost no more time to miss.
   */
  read(id: string, owner?: string): Promise<Task | undefined>;
  /** The committed state of the task of a principal and a tool with an idempotency key, unless its time is over. */
  keyed(principal: string, tool: string, key: string): Promise<Task | undefined>;
  /** Changes a task. Resolves with its state after the commit, or `undefined` where there is none. */
  change(id: string, decide: Decide): Promise<Task | undefined>;
  /**
   * Changes a task and each of its live descendants in one commit: subtasks, their subtasks, and so on. A throw
   * leaves all of them as they were. Resolves with the state of the task itself.
   */
  changeTree(id: string, decide: Decide): Promise<Task | undefined>;
  /** A task's journal in order. */
  journal(id: string): Promise<JournalEntry[]>;

  /** The stored events of a task whose number is above `after`, in order, at most `limit`. */
  events(id: string, after: number, limit: number): Promise<StoredEvent[]>;
  /** The subtasks of a task, in the order of their creation; at most `limit`, where one is given. */
  subtasks(id: string, limit?: number): Promise<Task[]>;
  /**
   * How far the subtasks of a task are, each counting for its weight: one that has ended is done, another one as far
   * as its own progress is. `undefined` where it has none.
   */
  progressBelow(id: string): Promise<Progress | undefined>;
  /** The descendants of a root that wait for an answer (`input_required`), in the order of their creation. */
  asking(root: string): Promise<Task[]>;
  /** Tasks of a principal that no handler made, latest first. An `after` that is unknown, or another's, gives the first page. */
  list(principal: string, options: ListOptions): Promise<Task[]>;

  /** Live tasks that are not paused, whose `wakeAt` lies after `after` and not after `until`, oldest first. */
  due(after: number, until: number): Promise<Due[]>;
  /** Ids of live tasks that are held, so that new code can be tried on them. */
  held(): Promise<string[]>;
  /** Ids of live tasks whose deadline is not after `now`, at most `limit`. */
  overdue(now: number, limit: number): Promise<string[]>;
  /**
   * Removes tasks whose `expiresAt` is not after `now`, with their journals, events and idempotency keys: at most
   * `limit`, and fewer where there is much to remove. Resolves with how many; with 0 once none is left.
   */
  expire(now: number, limit: number): Promise<number>;
  /** How many live tasks a principal has that no handler made. */
  live(principal: string): Promise<number>;
  /** How many live tasks there are, counted without holding up commands or the event loop. A store need not know. */
  liveCounts?(): Promise<LiveCounts>;

  /**
   * Calls `listener` after each commit, once for each task that it made or changed, when the callers
   * have their answers. What it throws becomes a warning of the process. Returns how to stop.
   */
  subscribe(listener: StoreListener): () => void;

  /** Calls `listener` after each commit that this process tried. Returns how to stop. A store need not measure itself. */
  onCommit?(listener: (commit: StoreCommit) => void): () => void;

  /**
   * Calls `listener` once this process owns the tasks, as one at a time does: the owner alone runs
   * handlers. That is before this returns where nobody owns them, else when the owner has given
   * them up, closed its store or died. Returns how to give up the ownership, which happens after
   * the commits that are under way, or the wait for it. Throws where owning is not possible at all.
   */
  own(listener: () => void): () => void;

  /**
   * Calls `listener` soon after other processes committed something here; several commits may
   * share a call. Returns how to stop.
   */
  onForeignCommit(listener: () => void): () => void;
}
