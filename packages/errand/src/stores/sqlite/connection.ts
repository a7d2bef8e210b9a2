import Database from 'better-sqlite3';
import type { Task } from '../../task/task.ts';
import { runTurn, storeAway, type Command } from '../commits.ts';
import { logReader, type LogState } from './checkpoints.ts';
import { eventTable, type EventTable } from './events.ts';
import { Ids } from './ids.ts';
import { journalTable, type JournalTable } from './journal.ts';
import { assertReadable, migrate } from './migrations.ts';
import { taskQueries, type TaskQueries } from './queries.ts';
import { RecentTasks } from './recent.ts';
import { taskTable, type TaskTable } from './tasks.ts';
import { isBusy, troubleWith } from './trouble.ts';

/**
 * How long SQLite waits for another process, in ms: the event loop stands still meanwhile. Commits of
 * others are over by then; for what takes longer, whoever called tries again later.
 */
const BUSY_TIMEOUT = 100;
/** The same while a commit is held up, in ms: what others hold for longer than that is looked at again and again. */
const HELD_UP_TIMEOUT = 2;
/** The clock is put on record so far ahead of time, in ms, that few commits have to. */
const AHEAD = 100;
/**
 * How long a write-ahead log may stay, in bytes. It is written over from the start again and again:
 * on Linux (ext4), to sync one that grows costs twice the CPU and the time.
 */
const LOG_BYTES = 32 * 1024 * 1024;
/** Pages given back to the file system at a time. */
const BITE = 256;

/** A command failed that had written something. */
class HalfDone extends Error {}

/** An open file, with all that is asked of it. */
export class Connection {
  readonly db: Database.Database;
  readonly ids: Ids;
  readonly tasks: TaskTable;
  readonly journal: JournalTable;
  readonly events: EventTable;
  readonly queries: TaskQueries;
  readonly recent: RecentTasks;
  readonly log: () => LogState;
  /** Raised before each write, so that a command that fails is known to have left nothing behind. */
  writes = 0;
  readonly #begin: Database.Statement;
  readonly #commit: Database.Statement;
  readonly #rollback: Database.Statement;
  readonly #savepoint: Database.Statement;
  readonly #release: Database.Statement;
  readonly #rollbackTo: Database.Statement;
  readonly #keepTime: Database.Statement<[number]>;
  readonly #keepOthersTime: Database.Statement<[number]>;
  readonly #dataVersion: Database.Statement<[], number>;
  #keptTime: number;
  /** The time to put on record with the commit under way. */
  #newTime = 0;
  readonly #timeOfOther: () => number | undefined;
  #othersTime = 0;
  #keepsTime = false;
  #isHeldUp = false;
  #seenVersion: number | undefined;

  /**
   * `timeOfOther` gives the time of this process where it does not own the tasks. Throws where the file cannot be read
   * and written, or is not one of ours.
   */
  constructor(file: string, timeOfOther: () => number | undefined) {
    const db = openFile(file);
    this.#timeOfOther = timeOfOther;
    this.db = db;
    this.ids = new Ids(db);
    this.tasks = taskTable(db, this.ids);
    this.journal = journalTable(db);
    this.events = eventTable(db);
    this.queries = taskQueries(db);
    this.recent = new RecentTasks(db);
    this.log = logReader(db);
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
    this.#rollback = db.prepare('ROLLBACK');
    this.#savepoint = db.prepare('SAVEPOINT command');
    this.#release = db.prepare('RELEASE command');
    this.#rollbackTo = db.prepare('ROLLBACK TO command');
    this.#keepTime = db.prepare("UPDATE meta SET value = max(value, ?) WHERE name = 'clock'");
    this.#keepOthersTime = db.prepare(
      "INSERT INTO meta VALUES ('others', ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
    );
    this.#dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
    this.#keptTime = db.prepare<[], number>("SELECT value FROM meta WHERE name = 'clock'").pluck().get()!;
  }

  /** The latest time on record. */
  get keptTime(): number {
    return this.#keptTime;
  }

  /** Sees to it that a time is on record, for a process to come, once the commit under way is. */
  keepTime(time: number): void {
    this.#keepsTime = true;
    if (time > this.#newTime) this.#newTime = time;
  }

  /** The latest time by the clocks of those that do not own the tasks at which one of them wrote something. */
  get othersTime(): number {
    return this.db.prepare<[], number>("SELECT value FROM meta WHERE name = 'others'").pluck().get() ?? 0;
  }

  /** Puts a time on record in place of one that was wrong. */
  correctTime(time: number): void {
    this.db.prepare<[number]>("UPDATE meta SET value = ? WHERE name IN ('clock', 'others')").run(time);
    this.#keptTime = time;
    this.#newTime = time;
  }

  /** How far the clock of the owner of the tasks is ahead of the system's, in ms. */
  get lead(): number {
    return this.db.prepare<[], number>("SELECT value FROM meta WHERE name = 'lead'").pluck().get() ?? 0;
  }

  set lead(lead: number) {
    this.db
      .prepare<[number]>("INSERT INTO meta VALUES ('lead', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
      .run(lead);
  }

  /** Whether others may have committed since this was asked last, in this connection. */
  othersCommitted(): boolean {
    const before = this.#seenVersion;
    this.#seenVersion = this.#dataVersion.get();
    return this.#seenVersion !== before;
  }

  /** Makes one transaction of the first commands; returns of how many. Throws where it failed; then nothing of it is left. */
  commit(commands: readonly Command[]): number {
    try {
      const done = this.#commitTurn(commands);
      if (this.#isHeldUp) this.#waitFor(BUSY_TIMEOUT);
      return done;
    } catch (thrown) {
      if (isBusy(thrown) && !this.#isHeldUp) this.#waitFor(HELD_UP_TIMEOUT);
      throw thrown;
    }
  }

  #waitFor(timeout: number): void {
    this.#isHeldUp = timeout === HELD_UP_TIMEOUT;
    this.db.pragma(`busy_timeout = ${timeout}`);
  }

  #commitTurn(commands: readonly Command[]): number {
    try {
      return this.#transact(() => runTurn(commands, (command) => this.#run(command)));
    } catch (thrown) {
      if (!(thrown instanceof HalfDone)) throw thrown;
      return this.#transact(() => runTurn(commands, (command) => this.#runAlone(command)));
    }
  }

  readRows(rows: readonly number[]): Task[] {
    return rows.flatMap((row) => this.tasks.readRow(row)?.task ?? []);
  }

  /** Cuts free pages off the file, a few at a time: to give back many would hold everybody up. */
  shrink(): void {
    this.db.pragma(`incremental_vacuum(${BITE})`);
  }

  close(): void {
    this.db.close();
  }

  #transact(work: () => number): number {
    this.#begin.run();
    try {
      this.recent.check();
      this.#keepsTime = false;
      const done = work();
      const reserved = this.ids.runLow ? this.ids.reserve() : undefined;
      const time = this.#newTime > this.#keptTime ? this.#newTime + AHEAD : undefined;
      if (time !== undefined) this.#keepTime.run(time);
      // Commands may have looked at the clock until now.
      const othersTime = this.#keepsTime ? this.#timeOfOther() : undefined;
      if (othersTime !== undefined && othersTime !== this.#othersTime) this.#keepOthersTime.run(othersTime);
      this.#commit.run();
      if (time !== undefined) this.#keptTime = time;
      if (othersTime !== undefined) this.#othersTime = othersTime;
      if (reserved !== undefined) this.ids.use(reserved);
      return done;
    } catch (thrown) {
      this.recent.forgetAll();
      if (this.db.inTransaction) this.#rollback.run();
      throw thrown;
    }
  }

  /**
   * Most commands that fail do so before they write anything. To be ready for those that do not
   * would cost each command a copy of every page that it writes to.
   */
  #run(command: Command): void {
    const { writes } = this;
    try {
      command.run();
    } catch (thrown) {
      // A full or failing disk may have undone the whole transaction already.
      if (!this.db.inTransaction) throw thrown;
      if (this.writes !== writes) throw new HalfDone();
      command.fail(this.blame(thrown));
    }
  }

  #runAlone(command: Command): void {
    this.#savepoint.run();
    try {
      command.run();
    } catch (thrown) {
      if (!this.db.inTransaction) throw thrown;
      this.#rollbackTo.run();
      this.recent.forgetAll();
      command.fail(this.blame(thrown));
    }
    this.#release.run();
  }

  /** What a caller is told: trouble with the file is not the caller's, all else is. */
  blame(thrown: unknown): unknown {
    const isTrouble = thrown instanceof Database.SqliteError && !thrown.code.startsWith('SQLITE_CONSTRAINT');
    return isTrouble ? storeAway(troubleWith(this.db.name, thrown)) : thrown;
  }
}

function openFile(file: string): Database.Database {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { timeout: BUSY_TIMEOUT });
    assertReadable(db);
    // This counts only before the first page is written, which the next line does; after that it would be a write itself.
    if (db.pragma('page_count', { simple: true }) === 0) db.pragma('auto_vacuum = INCREMENTAL');
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('foreign_keys = ON');
    db.pragma('wal_autocheckpoint = 0');
    db.pragma(`journal_size_limit = ${LOG_BYTES}`);
    migrate(db);
    assertWritable(db);
    return db;
  } catch (thrown) {
    db?.close();
    throw troubleWith(file, thrown);
  }
}

/** Finds out at the start, and not at the first call, that a file is for reading only. */
function assertWritable(db: Database.Database): void {
  try {
    // SQLite tells at the first change only; this one is never kept.
    db.exec("BEGIN IMMEDIATE; UPDATE meta SET value = value WHERE name = 'clock'; ROLLBACK");
  } catch (thrown) {
    if (!isBusy(thrown)) throw thrown; // who writes now will be done some time
  } finally {
    if (db.inTransaction) db.exec('ROLLBACK');
  }
}
