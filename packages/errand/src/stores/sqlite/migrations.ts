import { randomBytes } from 'node:crypto';
import type { Database } from 'better-sqlite3';

/** Says in the file's header that it is ours ("Ernd"). */
const APPLICATION_ID = 0x45726e64;

/** Each brings a file from the version of its index to the next. Never change one that was published. */
const MIGRATIONS: readonly ((db: Database) => void)[] = [first];

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

/*
 * `call` holds what is written once, so that a change of status does not rewrite large arguments.
 * The journal is one b-tree, ordered by task: reading one is one walk.
 */
function first(db: Database): void {
  db.exec(`
    CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;

    CREATE TABLE task (
      row INTEGER PRIMARY KEY,
      nonce BLOB NOT NULL,
      version INTEGER NOT NULL,
      entries INTEGER NOT NULL,
      principal TEXT NOT NULL,
      status TEXT NOT NULL,
      status_message TEXT,
      progress_done REAL,
      progress_total REAL,
      inputs TEXT,
      outcome TEXT,
      created_at INTEGER NOT NULL,
      last_updated_at INTEGER NOT NULL,
      deadline_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      poll_interval_ms INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      wake_at INTEGER,
      runs INTEGER NOT NULL,
      held TEXT
    ) STRICT;
    CREATE INDEX task_wake_at ON task (wake_at) WHERE wake_at IS NOT NULL;
    CREATE INDEX task_held ON task (row) WHERE held IS NOT NULL;
    CREATE INDEX task_live_deadline ON task (deadline_at) WHERE status IN ('working', 'input_required');
    CREATE INDEX task_live_principal ON task (principal) WHERE status IN ('working', 'input_required');
    CREATE INDEX task_expires_at ON task (expires_at);

    CREATE TABLE call (
      row INTEGER PRIMARY KEY REFERENCES task ON DELETE CASCADE,
      tool TEXT NOT NULL,
      tool_version TEXT NOT NULL,
      seed TEXT NOT NULL,
      arguments TEXT NOT NULL,
      prepared TEXT,
      capabilities TEXT
    ) STRICT;

    CREATE TABLE journal (
      row INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
      seq INTEGER NOT NULL,
      begun INTEGER,
      kind TEXT,
      name TEXT,
      ordinal INTEGER,
      value TEXT,
      failure TEXT,
      PRIMARY KEY (row, seq)
    ) STRICT, WITHOUT ROWID;
  `);
  const meta = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
  meta.run('id_key', randomBytes(16));
  meta.run('next_row', 1);
  meta.run('clock', 0);
}
