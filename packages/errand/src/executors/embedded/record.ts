import { LeaseLost } from '../../engine/failures.ts';
import type { Store } from '../../store.ts';
import type { JournalEntry } from '../../task/journal.ts';
import { isTerminal, type Task } from '../../task/task.ts';

/**
 * The task of a run, as the run may write it. Until it is persisted everything stays in memory,
 * and a crash forgets it: nothing was promised then.
 */
export class TaskRecord {
  readonly #store: Store;
  readonly #epoch: number;
  readonly #listeners = new Set<(task: Task) => void>();
  readonly #onPersist: ((created: Promise<Task>) => void) | undefined;
  readonly #sleepPersists: boolean;
  #task: Task;
  #written: boolean;
  #held: JournalEntry[] = [];

  /** The record of a task on disk; with `attempt`, of one that is not there yet. */
  constructor(
    store: Store,
    task: Task,
    attempt?: { readonly sleepPersists: boolean; readonly onPersist: (created: Promise<Task>) => void },
  ) {
    this.#store = store;
    this.#task = task;
    this.#epoch = task.epoch;
    this.#written = attempt === undefined;
    this.#onPersist = attempt?.onPersist;
    this.#sleepPersists = attempt?.sleepPersists ?? true;
  }

  get task(): Task {
    return this.#task;
  }

  get written(): boolean {
    return this.#written;
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

  /** Commits a transition and entries together. Rejects with `LeaseLost` where the task is no longer this run's. */
  async write(transition: (task: Task, now: number) => Task, entries: readonly JournalEntry[]): Promise<Task> {
    if (!this.#written) {
      // The handler has the values of these entries too, and may change them before they are written.
      this.#held.push(...structuredClone(entries));
      this.#set(transition(this.#task, this.now()));
      return this.#task;
    }
    let lost = false;
    const task = await this.#store.change(this.#task.id, (current) => {
      lost = current.epoch !== this.#epoch || isTerminal(current);
      if (lost) return undefined;
      const next = transition(current, this.now());
      return next === current && entries.length === 0 ? undefined : { task: next, entries };
    });
    if (task === undefined || lost) throw new LeaseLost();
    this.observe(task);
    return task;
  }

  /** Writes the task and its journal down, unless that was done or `cause` does not ask for it. */
  persist(cause: 'input' | 'sleep' | 'patience', unwritten: () => readonly JournalEntry[]): void {
    if (this.#written || (cause === 'sleep' && !this.#sleepPersists)) return;
    const entries = [...this.#held, ...unwritten()];
    this.#written = true;
    this.#held = [];
    this.#onPersist!(this.#store.create(this.#task, entries));
  }

  close(): void {
    this.#listeners.clear();
  }

  #set(task: Task): void {
    if (task === this.#task) return;
    this.#task = task;
    for (const listener of [...this.#listeners]) listener(task);
  }
}
