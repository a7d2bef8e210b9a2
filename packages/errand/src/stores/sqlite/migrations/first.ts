import { randomBytes } from 'node:crypto';
import type { Database } from 'better-sqlite3';

/*
 * `call` holds what is written once, so that a change of status does not rewrite large arguments.
 * The journal is one b-tree, ordered by task: reading one is one walk.
 */
export function first(db: Database): void {
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
