import Database from 'better-sqlite3';
import { accessSync, constants, existsSync } from 'node:fs';
import { isBusy, troubleWith } from './trouble.ts';

/** How often a process that waits tries again, in ms. A try takes a tenth of one. */
const TRY_EVERY = 250;

/**
 * Calls `onOwned` once this process has the lock on a side file, at once where it is free. The lock
 * is an open transaction of SQLite, so the system frees it whichever way its holder ends. Calls
 * `onRefused` after each try that came too early. Returns how to let go. Throws where the file
 * cannot be locked for another reason than that it is.
 */
export function own(file: string, onOwned: () => void, onRefused: () => void): () => void {
  assertWritable(file);
  let lock = locked(file);
  if (lock !== undefined) {
    onOwned();
    return () => lock?.close();
  }
  onRefused();
  const tries = setInterval(() => {
    try {
      lock = locked(file);
    } catch {
      // The tasks beside it are out of reach then, too, and whoever uses them says so.
    }
    if (lock === undefined) return onRefused();
    clearInterval(tries);
    onOwned();
  }, TRY_EVERY).unref();
  return () => {
    clearInterval(tries);
    lock?.close();
  };
}

/** While another process has the lock, SQLite does not come to see that this one never could. */
function assertWritable(file: string): void {
  try {
    if (existsSync(file)) accessSync(file, constants.W_OK);
  } catch (thrown) {
    throw troubleWith(file, new Database.SqliteError((thrown as Error).message, 'SQLITE_READONLY'));
  }
}

/** The file, opened and locked; `undefined` where another process, or another store here, has the lock. */
function locked(file: string): Database.Database | undefined {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { timeout: 0 });
    // Of a file that may only be read SQLite gives this lock to everybody, and tells at the first change only. This one
    // is never kept, and needs no journal beside the file.
    db.pragma('journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE; PRAGMA user_version = 1');
    return db;
  } catch (thrown) {
    db?.close();
    if (isBusy(thrown)) return undefined;
    throw troubleWith(file, thrown);
  }
}
