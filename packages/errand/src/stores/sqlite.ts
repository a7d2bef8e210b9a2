import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Decide, Due, Store, StoreListener, StoreOptions } from '../store.ts';
import type { JournalEntry } from '../task/journal.ts';
import type { Task } from '../task/task.ts';
import { assertNext, changed, idTaken } from './change.ts';
import { SteadyClock } from './clock.ts';
import { Commits, storeAway, type Command, type Written } from './commits.ts';
import { Checkpoints } from './sqlite/checkpoints.ts';
import { blame, Connection } from './sqlite/connection.ts';
import { secretIn } from './sqlite/secret.ts';

const IN_MEMORY = ':memory:';

/**
 * Keeps tasks in a SQLite file, which is made, with its folders, where it is missing. What was
 * answered is on disk, also after a power cut. Several processes on one machine may share the
 * file. The server's secret lies beside it, in `<file>.secret`. `:memory:` keeps tasks until `close`.
 */
export function sqlite(file: string, options: StoreOptions = {}): Store {
  if (file === '') throw new TypeError('sqlite() needs the path of a file');
  return new SqliteStore(file === IN_MEMORY ? file : resolve(file), options);
}

class SqliteStore implements Store {
  readonly #file: string;
  readonly #clock: SteadyClock;
  readonly #commits = new Commits((commands) => this.#commit(commands));
  #checkpoints: Checkpoints;
  #connection: Connection | undefined;
  #secret: Uint8Array | undefined;
  #isOpen = false;

  constructor(file: string, options: StoreOptions) {
    this.#file = file;
    this.#clock = new SteadyClock(options.clock);
    this.#checkpoints = new Checkpoints(file);
  }

  async open(): Promise<void> {
    if (this.#isOpen) return;
    if (this.#file !== IN_MEMORY) await mkdir(dirname(this.#file), { recursive: true });
    this.#connection ??= this.#connect();
    this.#isOpen = true;
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#commits.drained();
    await this.#checkpoints.close();
    this.#checkpoints = new Checkpoints(this.#file);
    // The last one to close a file brings the rest of its log into it.
    this.#connection?.close();
    this.#connection = undefined;
  }

  now(): number {
    return this.#clock.now();
  }

  newId(): string {
    return this.#use(({ ids }) => ids.next());
  }

  async secret(): Promise<Uint8Array> {
    this.#assertOpen();
    return (this.#secret ??= this.#file === IN_MEMORY ? randomBytes(32) : await secretIn(`${this.#file}.secret`));
  }

  create(task: Task, entries: readonly JournalEntry[] = []): Promise<Task> {
    return this.#write((connection) => {
      const { ids, tasks, journal } = connection;
      const place = ids.unseal(task.id);
      if (place === undefined) throw new TypeError(`${task.id} is not an id of this store`);
      if (tasks.has(place)) throw idTaken(task.id);
      assertNext(entries, 0);
      tasks.insert(place, task, entries.length);
      journal.append(place.row, entries);
      connection.keepTime(this.now());
      return { value: task, changed: task };
    });
  }

  change(id: string, decide: Decide): Promise<Task | undefined> {
    return this.#write<Task | undefined>((connection) => {
      const { ids, tasks, journal } = connection;
      const place = ids.unseal(id);
      const stored = place && tasks.read(id, place);
      if (stored === undefined) return { value: undefined };
      const change = decide(stored.task);
      const next = changed(stored.task, change);
      if (next === undefined) return { value: stored.task };
      const entries = change?.entries ?? [];
      assertNext(entries, stored.entries);
      if (!tasks.update(place!, next, stored.entries + entries.length)) throw new Error(`${id} changed meanwhile`);
      journal.append(place!.row, entries);
      connection.keepTime(this.now());
      return { value: next, changed: next };
    });
  }

  expire(now: number, limit: number): Promise<number> {
    return this.#write((connection) => {
      const value = connection.tasks.expire(now, limit);
      connection.shrink();
      return { value };
    });
  }

  async read(id: string): Promise<Task | undefined> {
    return this.#use(({ ids, tasks }) => {
      const place = ids.unseal(id);
      return place && tasks.read(id, place)?.task;
    });
  }

  async journal(id: string): Promise<JournalEntry[]> {
    return this.#use(({ ids, tasks, journal }) => {
      const place = ids.unseal(id);
      return place !== undefined && tasks.has(place) ? journal.read(place.row) : [];
    });
  }

  async due(after: number, until: number): Promise<Due[]> {
    return this.#use(({ ids, tasks }) =>
      tasks.due(after, until).map((found) => ({ id: ids.seal(found), wakeAt: found.wakeAt })),
    );
  }

  async held(): Promise<string[]> {
    return this.#use(({ ids, tasks }) => tasks.held().map((found) => ids.seal(found)));
  }

  async overdue(now: number, limit: number): Promise<string[]> {
    return this.#use(({ ids, tasks }) => tasks.overdue(now, limit).map((found) => ids.seal(found)));
  }

  async live(principal: string): Promise<number> {
    return this.#use(({ tasks }) => tasks.live(principal));
  }

  subscribe(listener: StoreListener): () => void {
    return this.#commits.subscribe(listener);
  }

  async #write<T>(work: (connection: Connection) => Written<T>): Promise<T> {
    this.#assertOpen();
    return await this.#commits.run(() => work(this.#connection!));
  }

  #use<T>(work: (connection: Connection) => T): T {
    this.#assertOpen();
    const connection = this.#connected();
    try {
      return work(connection);
    } catch (thrown) {
      throw blame(thrown);
    }
  }

  #commit(commands: readonly Command[]): void {
    const connection = this.#connected();
    try {
      connection.commit(commands);
    } catch (thrown) {
      this.#giveUp(connection);
      throw thrown;
    }
    this.#checkpoints.consider(connection);
  }

  /** After a failed commit nobody knows what SQLite holds in its cache: the next command begins from the file. */
  #giveUp(connection: Connection): void {
    if (this.#file === IN_MEMORY) return;
    this.#connection = undefined;
    connection.close();
  }

  #connected(): Connection {
    try {
      return (this.#connection ??= this.#connect());
    } catch (thrown) {
      throw storeAway(thrown);
    }
  }

  #connect(): Connection {
    const connection = new Connection(this.#file);
    // Left alone, a wrong time on record would stay there until the clock has reached it.
    if (!this.#clock.startFrom(connection.keptTime)) connection.correctTime(this.#clock.now());
    return connection;
  }

  #assertOpen(): void {
    if (!this.#isOpen) throw storeAway(new Error('the store is not open'));
  }
}
