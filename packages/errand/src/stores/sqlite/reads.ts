import type { Read } from '../commits.ts';
import type { Connection } from './connection.ts';

/**
 * Answers reads. They came before this, so one look at what others have committed by now is enough
 * for all; and none is needed right after a commit, which began with one.
 */
export function answerReads(file: Connection, reads: readonly Read[], committed: boolean): void {
  try {
    if (!committed) file.recent.check();
  } catch (thrown) {
    for (const { reject } of reads) reject(file.blame(thrown));
    return;
  }
  for (const read of reads) {
    const known = file.recent.latest(read.id)?.task;
    // What another principal must not have is looked for in the file all the same, as an unknown id is.
    if (known !== undefined && (read.owner === undefined || read.owner === known.principal)) read.resolve(known);
    else answerFromFile(file, read);
  }
}

function answerFromFile(file: Connection, { id, owner, resolve, reject }: Read): void {
  try {
    const place = file.ids.unseal(id);
    const stored = place && file.tasks.read(id, place, owner);
    if (stored !== undefined) file.recent.keep(stored);
    resolve(stored?.task);
  } catch (thrown) {
    reject(file.blame(thrown));
  }
}
