import { Gathering, openBatches } from './batches.ts';
import type { Writer } from './batches.ts';

/** Commits on the thread of the event loop. */
export function loopWriter(file: string): Writer {
  const { commit, close } = openBatches(file);
  const gathering = new Gathering((values, done) => {
    commit(values);
    for (const resolve of done) resolve();
  });
  return { write: (value) => gathering.add(value), close };
}
