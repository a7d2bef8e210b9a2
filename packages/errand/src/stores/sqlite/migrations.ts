import type { Database } from 'better-sqlite3';
import { first } from './migrations/first.ts';
import { second } from './migrations/second.ts';

/** Says in the file's header that it is ours ("Ernd"). */
const APPLICATION_ID = 0x45726e64;

/** Each brings a file from the version of its index to the next. Never change one that was published. */
const MIGRATIONS: readonly ((db: Database) => void)[] = [first, second];

/**
 * Brings the file up to date. Throws, and leaves the file as it is, where it was written by a
 * newer Errand or by something else.
 */
export function migrate(db: Database): void {
  if (versionOf(db) === MIGRATIONS.length) return;
  const rest = db.transaction(() => {
    // Asked again: another process may have been quicker.
    for (const migration of MIGRATIONS.slice(versionOf(db))) migration(db);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${MIGRATIONS.length}`);
  });
  rest.immediate();
}

/** Throws where the file is not one that this version can read and write. */
export function assertReadable(db: Database): void {
  const isEmpty = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0;
  if (!isEmpty && db.pragma('application_id', { simple: true }) !== APPLICATION_ID) {
    throw new Error(`${db.name} is the database of another program; give Errand a file of its own`);
  }
  if (versionOf(db) > MIGRATIONS.length) {
    throw new Error(
      `${db.name} was written by a newer version of Errand (its format is ${versionOf(db)}, this one knows ` +
        `${MIGRATIONS.length}); update the errand package, or use another file`,
    );
  }
}

function versionOf(db: Database): number {
  return db.pragma('user_version', { simple: true }) as number;
}
