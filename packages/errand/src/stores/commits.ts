import { ErrandError } from '../errors.ts';
import type { StoreCommit, StoreListener } from '../store.ts';
import type { Task } from '../task/task.ts';

/** What a command came to: what its caller gets, and the tasks that it made or changed, in that order. */
export interface Written<T> {
  readonly value: T;
  readonly changed: readonly Task[];
}

/** One command of a commit. */
export interface Command {
  /** Does its writing. A throw must leave nothing of it behind. May be called again. */
  run(): void;
  /** Says that it failed alone; its neighbours are kept. */
  fail(thrown: unknown): void;
}

/** Somebody asks for a task, or for one that is `owner`'s. */
export interface Read {
  readonly id: string;
  readonly owner: string | undefined;
  readonly resolve: (task: Task | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Thrown where somebody else writes for too long: nothing of the commit is left, and it may be tried again. */
export class CommitHeldUp extends Error {
  constructor(cause: unknown) {
    super('the commit is held up', { cause });
  }
}

export interface CommitsParts {
  /**
   * Makes one commit of the first commands: runs each, and calls `fail` on those that throw, until
   * all are done or its turn is over. Returns how many it took. Throws where the commit as a whole
   * failed; then nothing of any command is left. Commands of a commit that was held up may be run again.
   */
  readonly commit: (commands: readonly Command[]) => number;
  /** Answers reads, each of which came before this call. `committed` says whether a commit was made right before. */
  readonly answer: (reads: readonly Read[], committed: boolean) => void;
}

/** How long the commands of one commit may run, in ms: the rest waits, and the event loop gets its turn. */
const TURN = 10;
/** How soon a commit that was held up is tried again, in ms; the event loop goes on meanwhile. */
const TRY_AGAIN_AFTER = 20;
/** When a client whose request failed should try again, in ms. */
const RETRY_AFTER = 1000;
/** How long a command waits for a commit that is held up, in ms. */
const PATIENCE = 5000;
/** How long it does when the store is closed, in ms. */
const LAST_PATIENCE = 500;

/**
 * Gathers the commands of one iteration of the event loop into one commit, and its reads into one
 * look at what is there after it. `setImmediate` makes that iteration: microtasks would give commits
 * of one command each.
 *
 * Commits are made on the loop's own thread. A writer thread costs 30 to 60 % more CPU a commit (see
 * bench/README.md), and leaves readers to learn of commits by message. The price is that the loop
 * waits for the disk, some milliseconds at p99; where syncs are slow, measure again.
 */
export class Commits {
  readonly #parts: CommitsParts;
  readonly #listeners = new Set<StoreListener>();
  readonly #observers = new Set<(commit: StoreCommit) => void>();
  #waiting: Pending[] = [];
  #reads: Read[] = [];
  #isScheduled = false;
  #isHeldUp = false;
  /** When a commit that is held up is given up at the latest, by the monotonic clock in ms. */
  #closesAt = Infinity;

  constructor(parts: CommitsParts) {
    this.#parts = parts;
  }

  /** Puts a command into the next commit; settles after it. */
  run<T>(work: () => Written<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(new PendingCommand(work, resolve, reject));
      this.#schedule();
    });
  }

  /** Reads a task at the end of this iteration, after its commit. */
  read(id: string, owner: string | undefined): Promise<Task | undefined> {
    return new Promise((resolve, reject) => {
      this.#reads.push({ id, owner, resolve, reject });
      this.#schedule();
    });
  }

  subscribe(listener: StoreListener): () => void {
    const own: StoreListener = (task) => listener(task);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /** Measures every commit. */
  observe(observer: (commit: StoreCommit) => void): () => void {
    const own = (commit: StoreCommit): void => observer(commit);
    this.#observers.add(own);
    return () => void this.#observers.delete(own);
  }

  /** Resolves when every command so far is settled, and the listeners have heard of it. */
  async drained(): Promise<void> {
    if (this.#waiting.length > 0) await this.run(() => NOTHING).catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Settles every command so far, soon: what cannot be committed fails. */
  async close(): Promise<void> {
    this.#closesAt = performance.now() + LAST_PATIENCE;
    await this.drained();
    this.#closesAt = Infinity;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#turn();
    });
  }

  #turn(): void {
    const reads = this.#reads;
    this.#reads = [];
    // Other programs may hold a commit up for long; readers do not wait for it.
    const committed = this.#waiting.length > 0 && !this.#isHeldUp && this.#flush();
    if (reads.length > 0) this.#parts.answer(reads, committed);
  }

  /** Whether a commit was made. */
  #flush(): boolean {
    const commands = this.#waiting;
    this.#waiting = [];
    const began = this.#observers.size > 0 ? performance.now() : 0;
    let taken: number;
    try {
      taken = this.#parts.commit(commands);
    } catch (thrown) {
      if (this.#observers.size > 0) this.#measured(began, commands.length, true);
      if (thrown instanceof CommitHeldUp) this.#putOff(commands, thrown);
      // Also what failed by itself: it may have failed over a state that is not there now.
      else for (const command of commands) command.reject(storeAway(thrown));
      return false;
    }
    if (this.#observers.size > 0) this.#measured(began, taken, false);
    if (taken < commands.length) {
      this.#waiting = commands.splice(taken);
      this.#schedule();
    }
    const changed = new Map<string, Task>();
    for (const command of commands) for (const task of command.settle()) changed.set(task.id, task);
    // In the next iteration the callers have gone on: an answer leaves before the news of it.
    if (changed.size > 0 && this.#listeners.size > 0) setImmediate(() => this.#tell(changed.values()));
    return true;
  }

  #measured(began: number, commands: number, failed: boolean): void {
    const ms = performance.now() - began;
    for (const observe of this.#observers) observe({ ms, commands, failed });
  }

  #putOff(commands: Pending[], why: CommitHeldUp): void {
    if (performance.now() < Math.min(commands[0]!.since + PATIENCE, this.#closesAt)) {
      this.#waiting = commands;
      this.#isHeldUp = true;
      setTimeout(() => {
        this.#isHeldUp = false;
        this.#flush();
      }, TRY_AGAIN_AFTER);
      return;
    }
    // Also those that came later: they may build on the first one.
    for (const command of commands) command.reject(storeAway(why.cause));
  }

  #tell(tasks: Iterable<Task>): void {
    for (const task of tasks) {
      for (const listener of this.#listeners) {
        try {
          listener(task);
        } catch (thrown) {
          process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
        }
      }
    }
  }
}

/** Runs commands until all are done or their turn is over. Returns how many it took. */
export function runTurn(commands: readonly Command[], run: (command: Command) => void): number {
  const end = performance.now() + TURN;
  let taken = 0;
  do run(commands[taken++]!);
  while (taken < commands.length && performance.now() < end);
  return taken;
}

/** The error of commands that the store could not take or keep; what went wrong is its cause, for the operator. */
export function storeAway(cause: unknown): ErrandError {
  if (cause instanceof ErrandError && cause.kind === 'storeAway') return cause;
  return new ErrandError('storeAway', 'The task store is out of reach; try again', {
    cause,
    data: { retryable: true, retryAfterMs: RETRY_AFTER },
  });
}

const NOTHING: Written<undefined> = { value: undefined, changed: [] };

interface Pending extends Command {
  /** When it came, by the monotonic clock in ms. */
  readonly since: number;
  /** Tells the caller; returns the tasks that were made or changed. */
  settle(): readonly Task[];
  reject(error: Error): void;
}

class PendingCommand<T> implements Pending {
  readonly since = performance.now();
  readonly #work: () => Written<T>;
  readonly #resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
  #written: Written<T> | undefined;
  #failure: { readonly thrown: unknown } | undefined;

  constructor(work: () => Written<T>, resolve: (value: T) => void, reject: (error: unknown) => void) {
    this.#work = work;
    this.#resolve = resolve;
    this.reject = reject;
  }

  run(): void {
    this.#failure = undefined;
    this.#written = this.#work();
  }

  fail(thrown: unknown): void {
    this.#failure = { thrown };
  }

  settle(): readonly Task[] {
    if (this.#failure !== undefined) {
      this.reject(this.#failure.thrown);
      return NOTHING.changed;
    }
    const { value, changed } = this.#written!;
    this.#resolve(value);
    return changed;
  }
}
