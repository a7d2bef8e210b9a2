import type { Database } from 'better-sqlite3';
import type { StoredTask } from './row.ts';

/** Of so many tasks the last state is kept in memory. */
const TASKS = 1000;
/** A task that takes more than this is read anew each time, in characters. */
const LARGEST = 16_384;

/**
 * Tasks as they were read or written last: to read one again, or to decide on it, costs no row and
 * no JSON. A commit of any other process, which SQLite tells of by its data version, forgets
 * everything; so does a command or a commit that fails.
 */
export class RecentTasks {
  readonly #dataVersion: () => number;
  readonly #tasks = new Map<string, StoredTask>();
  #version: number;

  constructor(db: Database) {
    const statement = db.prepare<[], number>('PRAGMA data_version').pluck();
    this.#dataVersion = () => statement.get()!;
    this.#version = this.#dataVersion();
  }

  /** For readers: what another process has acknowledged by now is seen. */
  get(id: string): StoredTask | undefined {
    this.check();
    return this.latest(id);
  }

  /** Within a transaction that writes, where nobody else can commit once `check` has looked. */
  latest(id: string): StoredTask | undefined {
    return this.#tasks.get(id);
  }

  /** Looks for commits of others. This goes for the moment only: a client may have heard of one a moment later. */
  check(): void {
    const version = this.#dataVersion();
    if (version === this.#version) return;
    this.#version = version;
    this.#tasks.clear();
  }

  keep(stored: StoredTask): void {
    const { id } = stored.task;
    this.#tasks.delete(id);
    if (stored.length > LARGEST) return;
    if (this.#tasks.size === TASKS) this.#tasks.delete(this.#tasks.keys().next().value!);
    freeze(stored.task);
    this.#tasks.set(id, stored);
  }

  /** Of tasks by their rows. */
  forget(rows: ReadonlySet<number>): void {
    for (const [id, { place }] of this.#tasks) if (rows.has(place.row)) this.#tasks.delete(id);
  }

  forgetAll(): void {
    this.#tasks.clear();
  }
}

/** Several readers get the same object; an attempt to change it is an error. */
function freeze(value: object): void {
  if (Object.isFrozen(value)) return;
  for (const name in value) {
    const member: unknown = value[name as keyof typeof value];
    if (typeof member === 'object' && member !== null) freeze(member);
  }
  Object.freeze(value);
}
