import { randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Creation, Decide, Due, ListOptions, LiveCounts, Store, StoreListener, StoreOptions } from '../store.ts';
import type { StoredEvent } from '../task/event.ts';
import type { JournalEntry } from '../task/journal.ts';
import type { Progress, Task, TaskStatus } from '../task/task.ts';
import { SteadyClock } from './clock.ts';
import { CommitHeldUp, Commits, storeAway, type Command, type Read, type Written } from './commits.ts';
import { backUp } from './sqlite/backup.ts';
import { countHere, countOffThread } from './sqlite/census.ts';
import { Checkpoints } from './sqlite/checkpoints.ts';
import * as commands from './sqlite/commands.ts';
import { Connection } from './sqlite/connection.ts';
import { ForeignCommits } from './sqlite/foreign-commits.ts';
import { own } from './sqlite/ownership.ts';
import { answerReads } from './sqlite/reads.ts';
import { secretIn } from './sqlite/secret.ts';
import { isBusy, isFull } from './sqlite/trouble.ts';
import { Turns } from './turns.ts';

const IN_MEMORY = ':memory:';
/** How long `open` waits for a file that another program has locked, in ms. */
const OPEN_WITHIN = 5000;
/** How soon it tries again, in ms. */
const OPEN_AGAIN_AFTER = 50;
/** How often the owner looks whether its clock has parted from the system's, and by how much counts, in ms. */
const BEAT = 1000;

/**
 * Keeps tasks in a SQLite file, which is made, with its folders, where it is missing. What was
 * answered is on disk, also after a power cut. Several processes on one machine may share the
 * file: one of them owns the tasks, by a lock on `<file>.owner`. The server's secret lies in
 * `<file>.secret`. `:memory:` keeps tasks until `close`.
 */
export function sqlite(file: string, options: StoreOptions = {}): SqliteStore {
  if (file === '') throw new TypeError('sqlite() needs the path of a file');
  return new FileStore(file === IN_MEMORY ? file : resolve(file), options);
}

/** A store in a file. */
export interface SqliteStore extends Store {
  /**
   * Copies the tasks, as they are at one moment, to a file of their own, with `<file>.secret` beside
   * it; commits go on meanwhile. To restore, give the copy to `sqlite()`. Rejects where there is a
   * file of that name, and where the tasks are not in a file.
   */
  backup(file: string): Promise<void>;
}

class FileStore implements SqliteStore {
  readonly #file: string;
  readonly #clock: SteadyClock;
  readonly #commits = new Commits({
    commit: (commands) => this.#commit(commands),
    answer: (reads, committed) => this.#answer(reads, committed),
  });
  readonly #ownerships = new Set<() => void>();
  readonly #foreignCommits = new ForeignCommits(() => this.#isOpen && this.#othersCommitted());
  readonly onCommit: NonNullable<Store['onCommit']> = (listener) => this.#commits.observe(listener);
  #turns = new Turns();
  #checkpoints: Checkpoints;
  #connection: Connection | undefined;
  #secret: Uint8Array | undefined;
  /** What a clock that was wrong read, in the life of an owner before. */
  #wrongTime: number | undefined;
  #counting: Promise<LiveCounts> | undefined;
  #isOpen = false;
  #owns = false;

  constructor(file: string, options: StoreOptions) {
    this.#file = file;
    this.#clock = new SteadyClock(options.clock);
    this.#checkpoints = new Checkpoints(file);
  }

  async open(): Promise<void> {
    if (this.#isOpen) return;
    if (this.#file !== IN_MEMORY) await makeFolder(this.#file);
    this.#connection ??= await this.#firstConnection();
    this.#isOpen = true;
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#commits.close();
    for (const letGo of this.#ownerships) letGo();
    this.#turns = new Turns();
    await Promise.all([this.#checkpoints.close(), this.#counting?.catch(() => undefined)]);
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
    return (this.#secret ??= this.#file === IN_MEMORY ? randomBytes(32) : await secretIn(this.#beside('secret')));
  }

  async backup(file: string): Promise<void> {
    this.#assertOpen();
    if (this.#file === IN_MEMORY) throw new TypeError('tasks in memory cannot be backed up');
    const secret = await this.secret();
    await makeFolder(file);
    await this.#checkpoints.besides(() => backUp(this.#file, resolve(file), secret));
  }

  create(make: () => Creation): Promise<Task> {
    return this.#write((file) => commands.create(file, make, this.now()));
  }

  change(id: string, decide: Decide): Promise<Task | undefined> {
    return this.#write((file) => commands.change(file, id, decide, this.now()));
  }

  changeTree(id: string, decide: Decide): Promise<Task | undefined> {
    return this.#write((file) => commands.changeTree(file, id, decide, this.now()));
  }

  expire(now: number, limit: number): Promise<number> {
    return this.#write((file) => commands.expire(file, now, limit));
  }

  read(id: string, owner?: string): Promise<Task | undefined> {
    return this.#isOpen ? this.#commits.read(id, owner) : Promise.reject(notOpen());
  }

  async keyed(principal: string, tool: string, key: string): Promise<Task | undefined> {
    const task = this.#use(({ tasks }) => tasks.withKey(principal, tool, key)?.task);
    return task === undefined || task.expiresAt <= this.now() ? undefined : task;
  }

  async journal(id: string): Promise<JournalEntry[]> {
    return this.#use(({ ids, tasks, journal, recent }) => {
      if (recent.get(id)?.entries === 0) return [];
      const place = ids.unseal(id);
      return place !== undefined && tasks.has(place) ? journal.read(place.row) : [];
    });
  }

  async events(id: string, after: number, limit: number): Promise<StoredEvent[]> {
    return this.#ofRow(id, ({ events }, row) => events.read(row, after, limit));
  }

  async subtasks(id: string, limit?: number): Promise<Task[]> {
    return this.#ofRow(id, (file, row) => file.readRows(file.queries.children(row, limit)));
  }

  async progressBelow(id: string): Promise<Progress | undefined> {
    return this.#use(({ ids, tasks, queries }) => {
      const place = ids.unseal(id);
      return place !== undefined && tasks.has(place) ? queries.progressBelow(place.row) : undefined;
    });
  }

  async asking(root: string): Promise<Task[]> {
    return this.#ofRow(root, (file, row) => file.readRows(file.queries.asking(row)));
  }

  async list(principal: string, { after, limit, statuses = STATUSES }: ListOptions): Promise<Task[]> {
    return this.#use((file) => {
      const place = after === undefined ? undefined : file.ids.unseal(after);
      return file.readRows(file.queries.list(principal, statuses, place, limit));
    });
  }

  async due(after: number, until: number): Promise<Due[]> {
    return this.#use(({ ids, queries }) =>
      queries.due(after, until).map((found) => ({ id: ids.seal(found), wakeAt: found.wakeAt })),
    );
  }

  async held(): Promise<string[]> {
    return this.#use(({ ids, queries }) => queries.held().map((found) => ids.seal(found)));
  }

  async overdue(now: number, limit: number): Promise<string[]> {
    return this.#use(({ ids, queries }) => queries.overdue(now, limit).map((found) => ids.seal(found)));
  }

  async live(principal: string): Promise<number> {
    return this.#use(({ queries }) => queries.live(principal));
  }

  async liveCounts(): Promise<LiveCounts> {
    if (this.#file === IN_MEMORY) return this.#use(({ db }) => countHere(db));
    this.#assertOpen();
    return (this.#counting ??= this.#checkpoints
      .besides(() => countOffThread(this.#file))
      .finally(() => (this.#counting = undefined)));
  }

  subscribe(listener: StoreListener): () => void {
    return this.#commits.subscribe(listener);
  }

  own(listener: () => void): () => void {
    this.#assertOpen();
    if (this.#file === IN_MEMORY) {
      const giveUp = this.#turns.take(listener);
      return () => void this.#commits.drained().then(giveUp);
    }
    let beats: NodeJS.Timeout | undefined;
    const begin = (): void => {
      this.#owns = true;
      beats = setInterval(() => this.#keepClocks(), BEAT).unref();
      this.#keepClocks();
      listener();
    };
    const unlock = own(this.#beside('owner'), begin, () => this.#followLead());
    const letGo = (): void => {
      this.#ownerships.delete(letGo);
      if (beats !== undefined) this.#owns = false;
      clearInterval(beats);
      unlock();
    };
    this.#ownerships.add(letGo);
    return () => (beats === undefined ? letGo() : void this.#commits.drained().then(letGo));
  }

  onForeignCommit(listener: () => void): () => void {
    return this.#file === IN_MEMORY ? () => undefined : this.#foreignCommits.listen(listener);
  }

  #write<T>(work: (connection: Connection) => Written<T>): Promise<T> {
    return this.#isOpen ? this.#commits.run(() => work(this.#connection!)) : Promise.reject(notOpen());
  }

  /** Reads what belongs to a task by its row; nothing belongs to a task that is not there. */
  #ofRow<T>(id: string, read: (file: Connection, row: number) => T[]): T[] {
    return this.#use((file) => {
      const place = file.ids.unseal(id);
      return place !== undefined && file.tasks.has(place) ? read(file, place.row) : [];
    });
  }

  #use<T>(work: (connection: Connection) => T): T {
    this.#assertOpen();
    const connection = this.#connected();
    try {
      return work(connection);
    } catch (thrown) {
      throw connection.blame(thrown);
    }
  }

  #answer(reads: readonly Read[], committed: boolean): void {
    let connection: Connection;
    try {
      connection = this.#connected();
    } catch (thrown) {
      for (const { reject } of reads) reject(thrown);
      return;
    }
    answerReads(connection, reads, committed);
  }

  #commit(commands: readonly Command[]): number {
    let connection: Connection | undefined;
    let taken: number;
    try {
      connection = this.#connected();
      taken = connection.commit(commands);
    } catch (thrown) {
      if (isBusy(thrown)) throw new CommitHeldUp(connection?.blame(thrown) ?? thrown);
      // Where there was no room, the connection is as it was before, and serves readers.
      if (connection !== undefined && !isFull(thrown)) this.#giveUp(connection);
      throw connection === undefined ? thrown : connection.blame(thrown);
    }
    this.#checkpoints.consider(connection);
    return taken;
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

  /** Opens the file, and has ids ready: whoever asks for one cannot wait. */
  async #firstConnection(): Promise<Connection> {
    let connection: Connection | undefined;
    for (const end = performance.now() + OPEN_WITHIN; ; await delay(OPEN_AGAIN_AFTER)) {
      try {
        connection ??= this.#connect();
        connection.ids.prepare();
        return connection;
      } catch (thrown) {
        if (isBusy(thrown) && performance.now() < end) continue;
        // Without room, or a turn to write, it serves readers meanwhile.
        if (connection !== undefined && (isBusy(thrown) || isFull(thrown))) return connection;
        connection?.close();
        throw thrown;
      }
    }
  }

  #connect(): Connection {
    const connection = new Connection(this.#file, () =>
      this.#owns || this.#file === IN_MEMORY ? undefined : this.#clock.now(),
    );
    // Left alone, a wrong time on record would stay there until the clock has reached it.
    if (!this.#clock.startFrom(connection.keptTime)) {
      this.#wrongTime = connection.keptTime;
      try {
        connection.correctTime(this.#clock.now());
      } catch (thrown) {
        if (!isBusy(thrown) && !isFull(thrown)) throw thrown; // it will be corrected at the next start
      }
    }
    return connection;
  }

  /** The path of a file that belongs to this one; the same for all who name the file by a link. */
  #beside(suffix: string): string {
    return `${realpathSync(this.#file)}.${suffix}`;
  }

  /**
   * Tells others how far ahead of the system's clock this one is: they may not have met the step back that made it so.
   * What was due by a clock that was wrong is due by this one.
   */
  #keepClocks(): void {
    try {
      const connection = this.#connected();
      this.#clock.startFrom(connection.othersTime);
      const { lead } = this.#clock;
      if (Math.abs(lead - connection.lead) >= BEAT) connection.lead = lead;
      if (this.#wrongTime === undefined) return;
      connection.tasks.wakeBy(this.#clock.now(), this.#wrongTime);
      connection.recent.forgetAll();
      this.#wrongTime = undefined;
    } catch {
      // At the next beat.
    }
  }

  /** What others have made is not in the future here, however long the clock stands still after a step back. */
  #othersCommitted(): boolean {
    const connection = this.#connected();
    const committed = connection.othersCommitted();
    if (committed) this.#clock.startFrom(connection.othersTime);
    return committed;
  }

  #followLead(): void {
    try {
      this.#clock.follow(this.#connected().lead);
    } catch {
      // At the next try.
    }
  }

  #assertOpen(): void {
    if (!this.#isOpen) throw notOpen();
  }
}

const STATUSES: readonly TaskStatus[] = ['working', 'input_required', 'completed', 'failed', 'cancelled'];

function notOpen(): Error {
  return storeAway(new Error('the store is not open'));
}

async function makeFolder(file: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
  } catch (cause) {
    throw new Error(`${file} cannot be used: its folder cannot be made (${(cause as Error).message})`, { cause });
  }
}
