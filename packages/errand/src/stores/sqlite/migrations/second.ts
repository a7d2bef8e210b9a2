import type { Database } from 'better-sqlite3';

/*
 * Brings subtasks, event logs, pauses and idempotency keys, with fewer indexes and no foreign keys.
 *
 * `task` holds what changes and what is searched; `call` what is written once, so that a change of
 * status does not rewrite large arguments. What is seldom set shares the column `more`. The events
 * that a task begins with are kept with its call, which saves most tasks a row. Journals and
 * event logs are one b-tree each, ordered by task: reading one is one walk. Rows do not refer to each
 * other by foreign keys, which would cost each insert a look: `expire` removes all there is of a task.
 *
 * Each index costs every creation, so there is one for each question and no more, and most hold only
 * the tasks that it is about. `created_at` in that of a principal is for the order of a list: row
 * numbers show none over several processes. `root` there, and `status` in that of a parent, are for
 * counting tasks without a look at each.
 */

export function second(db: Database): void {
  const tables = ['task', 'call', 'journal'];
  // With the indexes of a table go their names; and who refers to another table goes first.
  for (const index of ['wake_at', 'held', 'live_deadline', 'live_principal', 'expires_at']) {
    db.exec(`DROP INDEX task_${index}`);
  }
  for (const table of tables) db.exec(`ALTER TABLE ${table} RENAME TO first_${table}`);
  createTables(db);
  db.exec(`
    INSERT INTO task (row, nonce, version, entries, events, principal, status, status_message, inputs, outcome,
        created_at, last_updated_at, deadline_at, expires_at, poll_interval_ms, epoch, wake_at, held, more)
      SELECT row, nonce, version, entries, 0, principal, status, status_message, inputs, outcome,
        created_at, last_updated_at, deadline_at, expires_at, poll_interval_ms, epoch, wake_at, held,
        nullif(json_patch('{}', json_object(
          'runs', nullif(runs, 0),
          'progress', iif(progress_done IS NULL, NULL,
            json(json_patch('{}', json_object('done', progress_done, 'total', progress_total))))
        )), '{}')
      FROM first_task ORDER BY row;
    INSERT INTO call (row, tool, tool_version, seed, arguments, prepared, capabilities)
      SELECT row, tool, tool_version, seed, arguments, prepared, capabilities FROM first_call ORDER BY row;
    INSERT INTO journal SELECT * FROM first_journal ORDER BY row, seq;
  `);
  for (const table of tables.toReversed()) db.exec(`DROP TABLE first_${table}`);
  createIndexes(db);
}

function createTables(db: Database): void {
  db.exec(`
    CREATE TABLE task (
      row INTEGER PRIMARY KEY,
      nonce BLOB NOT NULL,
      version INTEGER NOT NULL,
      entries INTEGER NOT NULL,
      events INTEGER NOT NULL,
      principal TEXT NOT NULL,
      root INTEGER,
      parent INTEGER,
      status TEXT NOT NULL,
      status_message TEXT,
      inputs TEXT,
      outcome TEXT,
      created_at INTEGER NOT NULL,
      last_updated_at INTEGER NOT NULL,
      deadline_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      poll_interval_ms INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      wake_at INTEGER,
      paused INTEGER,
      held TEXT,
      more TEXT
    ) STRICT;

    CREATE TABLE call (
      row INTEGER PRIMARY KEY,
      tool TEXT NOT NULL,
      tool_version TEXT NOT NULL,
      seed TEXT NOT NULL,
      arguments TEXT NOT NULL,
      prepared TEXT,
      capabilities TEXT,
      origin TEXT,
      once TEXT,
      opening TEXT
    ) STRICT;

    CREATE TABLE journal (
      row INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      begun INTEGER,
      kind TEXT,
      name TEXT,
      ordinal INTEGER,
      value TEXT,
      failure TEXT,
      PRIMARY KEY (row, seq)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE event (
      row INTEGER NOT NULL,
      last INTEGER NOT NULL,
      first INTEGER NOT NULL,
      at INTEGER NOT NULL,
      progress INTEGER NOT NULL,
      events TEXT NOT NULL,
      PRIMARY KEY (row, last)
    ) STRICT, WITHOUT ROWID;
  `);
}

/** Made when the tables are filled, which is quicker than to keep them in order meanwhile. */
function createIndexes(db: Database): void {
  db.exec(`
    CREATE INDEX task_principal ON task (principal, root, status, created_at) WHERE root IS NULL;
    CREATE INDEX task_parent ON task (parent, status) WHERE parent IS NOT NULL;
    CREATE INDEX task_asking ON task (root) WHERE root IS NOT NULL AND status = 'input_required';
    CREATE INDEX task_wake_at ON task (wake_at) WHERE wake_at IS NOT NULL AND paused IS NULL;
    CREATE INDEX task_held ON task (row) WHERE held IS NOT NULL;
    CREATE INDEX task_deadline ON task (deadline_at) WHERE status IN ('working', 'input_required');
    CREATE INDEX task_expiry ON task (expires_at) WHERE status NOT IN ('working', 'input_required');
    CREATE UNIQUE INDEX call_once ON call (once) WHERE once IS NOT NULL;
  `);
}
