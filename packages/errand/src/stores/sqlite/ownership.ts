import Database from 'better-sqlite3';
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

/** The file, opened and locked; `undefined` where another process, or another store here, has the lock. */
function locked(file: string): Database.Database | undefined {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { timeout: 0 });
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch (thrown) {
    db?.close();
    if (isBusy(thrown)) return undefined;
    throw troubleWith(file, thrown);
  }
}
