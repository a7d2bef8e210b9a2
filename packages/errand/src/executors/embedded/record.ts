import type { Logger } from 'pino';
import { delay, type Clock } from '../../clock.ts';
import { cancelling, ending } from '../../engine/ending.ts';
import { LeaseLost } from '../../engine/failures.ts';
import { ErrandError } from '../../errors.ts';
import { StaleJournal, type Change, type Creation, type Store } from '../../store.ts';
import type { LoggedEvent } from '../../task/event.ts';
import type { JournalEntry } from '../../task/journal.ts';
import { isTerminal, type Task } from '../../task/task.ts';
import { pausedWith } from '../../task/transitions.ts';
import { logBindings } from '../../telemetry.ts';

/** How soon a write is tried again, in ms. */
const TRY_AGAIN_AFTER = 1000;

/** Makes the next state of a task. */
export type Transition = (task: Task, now: number) => Task;

/** What a write keeps beside the next state of the task. */
export interface Gains {
  readonly entries: readonly JournalEntry[];
  readonly events: readonly LoggedEvent[];
  readonly subtasks: readonly Task[];
}

/** What one write takes along. */
export interface Parcel {
  readonly gains: Gains;
  /** The transition that also shows what is to be shown. */
  readonly with: (transition: Transition) => Transition;
}

/** The gains of a write that changes the task alone. */
export const NOTHING: Gains = { entries: [], events: [], subtasks: [] };

/** What a write takes along that has nothing to take. */
export const EMPTY: Parcel = { gains: NOTHING, with: (transition) => transition };

/**
 * The task of a run, as the run may write it. Until it is persisted everything stays in memory,
 * and a crash forgets it: nothing was promised then.
 */
export class TaskRecord {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #epoch: number;
  readonly #listeners = new Set<(task: Task) => void>();
  readonly #onPersist: ((created: Promise<Task>) => void) | undefined;
  readonly #sleepPersists: boolean;
  /** The task as it was when the run took it up. */
  readonly #begun: Task;
  #task: Task;
  /** Whether the task is on disk, or was promised to be. */
  #persisted: boolean;
  /** Whether the commit that makes the task was begun: what comes later is a change of its own. */
  #made: boolean;
  /** The commit that makes the task, once it is promised. */
  #creation: Promise<Task> | undefined;
  #pending = false;
  /** What the task is to be made with. */
  #held = { entries: [] as JournalEntry[], events: [] as LoggedEvent[], subtasks: [] as Task[] };
  /** Settles when nothing waits for the store any more. */
  #waiting: Promise<void> | undefined;
  #closed = false;

  /** The record of a task on disk; with `attempt`, of one that is not there yet. */
  constructor(
    store: Store,
    clock: Clock,
    log: Logger,
    task: Task,
    attempt?: { readonly sleepPersists: boolean; readonly onPersist: (created: Promise<Task>) => void },
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#begun = this.#task = task;
    this.#epoch = task.epoch;
    this.#persisted = this.#made = attempt === undefined;
    this.#onPersist = attempt?.onPersist;
    this.#sleepPersists = attempt?.sleepPersists ?? true;
  }

  get task(): Task {
    return this.#task;
  }

  /** Whether there is a task, or will be one after the commit under way. */
  get persisted(): boolean {
    return this.#persisted;
  }

  /** Whether the commit that makes the task is under way. */
  get pending(): boolean {
    return this.#pending;
  }

  now(): number {
    return this.#store.now();
  }

  /** Takes note of a later state of the task. */
  observe(task: Task): void {
    if (task.version <= this.#task.version) return;
    this.#set(task);
  }

  onTask(listener: (task: Task) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Commits a transition together with what it gains, as soon as the store can be reached. Rejects with
   * `LeaseLost` where the task is no longer this run's.
   */
  async write(transition: Transition, gains: Gains): Promise<Task> {
    if (!this.#made) {
      this.#hold(gains);
      this.#set(transition(this.#task, this.now()));
      // Until a task is promised there is nothing to wait for.
      await this.#creation;
      return this.#task;
    }
    return this.#insistOn(gains, () => this.#change(transition, gains));
  }

  /** Ends the task, and with it all of its descendants that have not ended, in one commit. */
  async endTree(transition: Transition, gains: Gains): Promise<Task> {
    // Where there is no task, and none was promised, there is nothing below it.
    if (!this.#persisted) return this.write(transition, gains);
    return this.#insistOn(gains, () => this.#changeTree(transition, gains));
  }

  /** The journal as it is on disk, or will be made with the task. */
  async journal(): Promise<readonly JournalEntry[]> {
    return this.#made ? this.#store.journal(this.#task.id) : this.#held.entries;
  }

  async #insistOn(gains: Gains, write: () => Promise<Task>): Promise<Task> {
    // What waits for the store comes first, so that the journal keeps its order.
    if (this.#waiting !== undefined) return this.#insist(gains, write, 0);
    try {
      return await write();
    } catch (error) {
      if (!isStoreAway(error)) throw error;
      this.#log.error({ ...logBindings(this.#task), err: error }, 'the store cannot take what a run did; trying again');
      return this.#insist(gains, write, TRY_AGAIN_AFTER);
    }
  }

  #hold({ entries, events, subtasks }: Gains): void {
    // The handler has the values of these entries too, and may change them before they are written.
    if (entries.length > 0) this.#held.entries.push(...structuredClone(entries));
    this.#held.events.push(...events);
    this.#held.subtasks.push(...subtasks);
  }

  /**
   * Writes when the store is back: the run has had its effects, and to run it again would repeat
   * them. Waits `wait` ms before the first try.
   */
  #insist({ entries }: Gains, write: () => Promise<Task>, wait: number): Promise<Task> {
    const insist = async (): Promise<Task> => {
      for (let pause = wait; ; pause = TRY_AGAIN_AFTER) {
        if (pause > 0) await delay(this.#clock, pause);
        if (this.#closed) throw new LeaseLost();
        try {
          return (await this.#kept(entries)) ?? (await write());
        } catch (error) {
          if (!isStoreAway(error)) throw error;
        }
      }
    };
    const turn = (this.#waiting ?? Promise.resolve()).then(insist);
    const over = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#waiting = over;
    void over.then(() => {
      if (this.#waiting === over) this.#waiting = undefined;
    });
    return turn;
  }

  /** The task, where the entries are in its journal: a commit may be on disk though the disk said that it failed. */
  async #kept(entries: readonly JournalEntry[]): Promise<Task | undefined> {
    const first = entries[0];
    if (first === undefined) return undefined;
    const { length } = await this.#store.journal(this.#task.id);
    if (length <= first.seq) return undefined;
    const task = await this.#store.read(this.#task.id);
    if (task !== undefined) this.observe(task);
    return task;
  }

  #change(transition: Transition, gains: Gains): Promise<Task> {
    return this.#commit((decide) => this.#store.change(this.#task.id, decide), transition, gains);
  }

  #changeTree(transition: Transition, gains: Gains): Promise<Task> {
    const { id } = this.#task;
    return this.#commit(
      (decide) => this.#store.changeTree(id, (task) => (task.id === id ? decide(task) : cancelling(task, this.now()))),
      transition,
      gains,
    );
  }

  async #commit(
    commit: (decide: (current: Task) => Change | undefined) => Promise<Task | undefined>,
    transition: Transition,
    gains: Gains,
  ): Promise<Task> {
    let lost = false;
    const decide = (current: Task): Change | undefined => {
      lost = current.epoch !== this.#epoch || isTerminal(current);
      if (lost) return undefined;
      const next = transition(current, this.now());
      if (isTerminal(next)) return ending(current, next, gains);
      // What this run made before it heard of a pause may not run either.
      const subtasks = next.paused ? gains.subtasks.map((made) => pausedWith(next, made)) : gains.subtasks;
      return { ...gains, task: next, subtasks };
    };
    const task = await commit(decide).catch((error: unknown) => {
      // Another process has taken the task over, and is further.
      throw error instanceof StaleJournal ? new LeaseLost() : error;
    });
    if (task !== undefined) this.observe(task);
    if (task === undefined || lost) throw new LeaseLost();
    return task;
  }

  /**
   * Writes the task and its journal down, unless that was done or `cause` does not ask for it. What the
   * run does until the commit comes is part of it, so that a quick task is written once.
   */
  persist(cause: 'wait' | 'sleep' | 'now', unwritten: () => Parcel): void {
    if (this.#persisted || (cause === 'sleep' && !this.#sleepPersists)) return;
    this.#persisted = true;
    let made: Creation | undefined;
    const make = (): Creation => {
      // A commit that was held up is made again; what was written since comes as changes after it.
      if (made === undefined) {
        const last = unwritten();
        this.#hold(last.gains);
        const task = last.with((same) => same)(this.#task, this.now());
        // One that has ended by now ends as any other: with its clean-up, if it has one.
        made = isTerminal(task) ? ending(this.#begun, task, this.#held)! : { ...this.#held, task };
        this.#made = true;
      }
      return made;
    };
    this.#pending = true;
    // Where it fails it stays pending: nothing may have effects for a task that will never be.
    this.#creation = this.#store.create(make).then((task) => {
      this.#pending = false;
      return task;
    });
    this.#onPersist!(this.#creation);
  }

  close(): void {
    this.#closed = true;
    this.#listeners.clear();
  }

  #set(task: Task): void {
    if (task === this.#task) return;
    this.#task = task;
    for (const listener of [...this.#listeners]) listener(task);
  }
}

function isStoreAway(error: unknown): boolean {
  return error instanceof ErrandError && error.kind === 'storeAway';
}
