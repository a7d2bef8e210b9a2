import Database from 'better-sqlite3';

/** What can be wrong with a file, by the beginning of SQLite's code, and what a person can do about it. */
const TROUBLES: readonly (readonly [code: string, what: string, remedy: string])[] = [
  ['SQLITE_FULL', 'its disk is full', 'free some space; Errand then goes on by itself'],
  [
    'SQLITE_BUSY',
    'another program holds it locked',
    'end the transaction that it has open, as of a database browser or a backup; Errand then goes on by itself',
  ],
  ['SQLITE_READONLY', 'it cannot be written', 'let this user write the file and its folder'],
  ['SQLITE_CANTOPEN', 'it cannot be opened', 'check that the path names a file, which this user may read and write'],
  ['SQLITE_PERM', 'it cannot be written', 'let this user write the file and its folder'],
  ['SQLITE_CORRUPT', 'it is damaged', 'restore it from a backup, or move it away to begin with an empty one'],
  ['SQLITE_NOTADB', 'it is no SQLite database', 'restore it from a backup, or give Errand another path'],
  ['SQLITE_IOERR', 'its disk fails', 'check the disk and the free space on it'],
];

/** An error for the operator: names the file, what is wrong with it, and the remedy. */
export function troubleWith(file: string, thrown: unknown): unknown {
  if (!(thrown instanceof Database.SqliteError)) return thrown;
  const { code, message } = thrown;
  const [, what, remedy] = TROUBLES.find(([start]) => code.startsWith(start)) ?? [];
  const advice = what === undefined ? message : `${what} (${message}); ${remedy}`;
  return new Error(`${file} cannot be used: ${advice}`, { cause: thrown });
}

/** What a text of the file holds. A file whose texts are not what was written is damaged, whatever SQLite says. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new Database.SqliteError((thrown as Error).message, 'SQLITE_CORRUPT');
  }
}

/** Whether a file could not be used because somebody else is using it. */
export function isBusy(thrown: unknown): boolean {
  return codeOf(thrown).startsWith('SQLITE_BUSY');
}

/** Whether there is no room for more. Nothing was written then, and what is there can be read. */
export function isFull(thrown: unknown): boolean {
  return codeOf(thrown) === 'SQLITE_FULL';
}

function codeOf(thrown: unknown): string {
  if (thrown instanceof Database.SqliteError) return thrown.code;
  return thrown instanceof Error && thrown.cause !== undefined ? codeOf(thrown.cause) : '';
}
