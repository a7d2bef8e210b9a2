import type { Database } from 'better-sqlite3';
import type { JsonValue } from '../../json.ts';
import type { BeginEntry, CallKind, Failure, JournalEntry } from '../../task/journal.ts';
import { parsed } from './trouble.ts';

/** The statements on the table `journal`. */
export type JournalTable = ReturnType<typeof journalTable>;

export function journalTable(db: Database) {
  const insert = db.prepare(
    'INSERT INTO journal (row, seq, begun, kind, name, ordinal, value, failure) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const select = db
    .prepare<[number], JournalRow>(
      'SELECT seq, begun, kind, name, ordinal, value, failure FROM journal WHERE row = ? ORDER BY seq',
    )
    .raw();

  return {
    append(row: number, entries: readonly JournalEntry[]): void {
      for (const entry of entries) insert.run(row, ...columnsOf(entry));
    },
    read: (row: number): JournalEntry[] => select.all(row).map(entryOf),
  };
}

/** `begun` is the number of the begin entry that an end belongs to, or of the end that a retry makes void. */
type JournalRow = [
  seq: number,
  begun: number | null,
  kind: CallKind | 'retry' | null,
  name: string | null,
  ordinal: number | null,
  value: string | null,
  failure: string | null,
];

function columnsOf(entry: JournalEntry): JournalRow {
  if (entry.type === 'begin') {
    const { seq, kind, name, ordinal, value } = entry;
    return [seq, null, kind, name, ordinal, value === undefined ? null : JSON.stringify(value), null];
  }
  if (entry.type === 'retry') return [entry.seq, entry.end ?? null, 'retry', null, null, null, null];
  const { seq, begin, outcome } = entry;
  return 'failure' in outcome
    ? [seq, begin, null, null, null, null, JSON.stringify(outcome.failure)]
    : [seq, begin, null, null, null, JSON.stringify(outcome.value), null];
}

function entryOf([seq, begun, kind, name, ordinal, value, failure]: JournalRow): JournalEntry {
  if (kind === 'retry') return { seq, type: 'retry', ...(begun === null ? {} : { end: begun }) };
  if (begun === null) {
    const begin = { seq, type: 'begin', kind, name, ordinal } as BeginEntry;
    return value === null ? begin : { ...begin, value: parsed(value) as JsonValue };
  }
  const outcome = failure === null ? { value: parsed(value!) as JsonValue } : { failure: parsed(failure) as Failure };
  return { seq, type: 'end', begin: begun, outcome };
}
