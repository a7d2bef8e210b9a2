import type { Database } from 'better-sqlite3';
import type { StoredTask } from './tasks.ts';

/** Of so many tasks the last state is kept in memory. */
const TASKS = 1000;
/** A task that takes more than this is read anew each time, in characters. */
const LARGEST = 16_384;

/**
 * Tasks as they were read last. Clients ask again and again for a task that did not change; then
 * no row is read and no JSON parsed. Every write of this process forgets what it touches, and a
 * commit of any other process, which SQLite tells of by its data version, forgets everything.
 */
export class RecentTasks {
  readonly #dataVersion: () => number;
  readonly #tasks = new Map<string, StoredTask>();
  #version: number;
  #checked = false;

  constructor(db: Database) {
    const statement = db.prepare<[], number>('PRAGMA data_version').pluck();
    this.#dataVersion = () => statement.get()!;
    this.#version = this.#dataVersion();
  }

  get(id: string): StoredTask | undefined {
    if (!this.#checked) this.#check();
    return this.#tasks.get(id);
  }

  /**
   * Once in an iteration of the event loop: whatever is asked in it was on its way before it began,
   * so nobody can have heard of a later commit.
   */
  #check(): void {
    this.#checked = true;
    setImmediate(() => (this.#checked = false));
    const version = this.#dataVersion();
    if (version === this.#version) return;
    this.#version = version;
    this.#tasks.clear();
  }

  keep(id: string, stored: StoredTask): void {
    if (stored.length > LARGEST) return;
    if (this.#tasks.size === TASKS) this.#tasks.delete(this.#tasks.keys().next().value!);
    this.#tasks.set(id, frozen(stored));
  }

  forget(id: string): void {
    this.#tasks.delete(id);
  }

  forgetAll(): void {
    this.#tasks.clear();
  }
}

/** Several readers get the same object; an attempt to change it is an error. */
function frozen<T extends object>(value: T): T {
  for (const member of Object.values(value)) if (typeof member === 'object' && member !== null) frozen(member);
  return Object.freeze(value);
}
