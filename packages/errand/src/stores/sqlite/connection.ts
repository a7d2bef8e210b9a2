import Database from 'better-sqlite3';
import { storeAway, type Command } from '../commits.ts';
import { logReader, type LogState } from './checkpoints.ts';
import { Ids } from './ids.ts';
import { journalTable, type JournalTable } from './journal.ts';
import { assertReadable, migrate } from './migrations.ts';
import { RecentTasks } from './recent.ts';
import { taskTable, type TaskTable } from './tasks.ts';
import { isBusy, troubleWith } from './trouble.ts';

/**
 * How long SQLite waits for another process, in ms: the event loop stands still meanwhile. Commits of
 * others are over by then; for what takes longer, whoever called tries again later.
 */
const BUSY_TIMEOUT = 100;
/** Pages given back to the file system at a time. */
const BITE = 512;

/** An open file, with all that is asked of it. */
export class Connection {
  readonly db: Database.Database;
  readonly ids: Ids;
  readonly tasks: TaskTable;
  readonly journal: JournalTable;
  readonly recent: RecentTasks;
  readonly log: () => LogState;
  readonly #begin: Database.Statement;
  readonly #commit: Database.Statement;
  readonly #rollback: Database.Statement;
  readonly #savepoint: Database.Statement;
  readonly #release: Database.Statement;
  readonly #rollbackTo: Database.Statement;
  readonly #keepTime: Database.Statement<[number]>;
  readonly #dataVersion: Database.Statement<[], number>;
  #keptTime: number;
  #seenVersion: number | undefined;

  /** Throws where the file cannot be read and written, or is not one of ours. */
  constructor(file: string) {
    const db = openFile(file);
    this.db = db;
    this.ids = new Ids(db);
    this.tasks = taskTable(db);
    this.journal = journalTable(db);
    this.recent = new RecentTasks(db);
    this.log = logReader(db);
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
    this.#rollback = db.prepare('ROLLBACK');
    this.#savepoint = db.prepare('SAVEPOINT command');
    this.#release = db.prepare('RELEASE command');
    this.#rollbackTo = db.prepare('ROLLBACK TO command');
    this.#keepTime = db.prepare("UPDATE meta SET value = max(value, ?) WHERE name = 'clock'");
    this.#dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
    this.#keptTime = db.prepare<[], number>("SELECT value FROM meta WHERE name = 'clock'").pluck().get()!;
  }

  /** The latest time on record. */
  get keptTime(): number {
    return this.#keptTime;
  }

  /** Puts a time on record, for a process to come, unless it is there. Part of the commit under way. */
  keepTime(time: number): void {
    if (time <= this.#keptTime) return;
    this.#keepTime.run(time);
    this.#keptTime = time;
  }

  /** Puts a time on record in place of one that was wrong. */
  correctTime(time: number): void {
    this.db.prepare<[number]>("UPDATE meta SET value = ? WHERE name = 'clock'").run(time);
    this.#keptTime = time;
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

  /** Makes one transaction of commands. Throws where it failed; then nothing of it is left. */
  commit(commands: readonly Command[]): void {
    this.#begin.run();
    try {
      this.recent.check();
      for (const command of commands) this.#run(command);
      const reserved = this.ids.runLow ? this.ids.reserve() : undefined;
      this.#commit.run();
      if (reserved !== undefined) this.ids.use(reserved);
    } catch (thrown) {
      this.recent.forgetAll();
      if (this.db.inTransaction) this.#rollback.run();
      throw thrown;
    }
  }

  /** Cuts free pages off the file, a few at a time: to give back many would hold everybody up. */
  shrink(): void {
    this.db.pragma(`incremental_vacuum(${BITE})`);
  }

  close(): void {
    this.db.close();
  }

  #run(command: Command): void {
    this.#savepoint.run();
    try {
      command.run();
    } catch (thrown) {
      // A full or failing disk may have undone the whole transaction already.
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
    // This counts only before the first page is written, which the next line does.
    db.pragma('auto_vacuum = INCREMENTAL');
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('foreign_keys = ON');
    db.pragma('wal_autocheckpoint = 0');
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
