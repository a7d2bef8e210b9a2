import type { Clock } from '../clock.ts';

/** The work is left alone for this many times as long as it took, so that it never takes more than a tenth of the loop. */
const REST = 9;
/** When work that failed is tried again, in ms. */
const AGAIN_AFTER = 1000;

/**
 * Makes a function that starts `work`, which it does at once where none is under way. Calls that
 * come meanwhile share one more, after a rest in proportion to what the work took. Work that rejects
 * is tried again. Keeps no process alive.
 */
export function coalesce(clock: Clock, work: () => Promise<void>): () => void {
  let busy = false;
  let again = false;

  async function run(): Promise<void> {
    busy = true;
    again = false;
    const began = clock.elapsed();
    let rest: number;
    try {
      await work();
      rest = (clock.elapsed() - began) * REST;
    } catch {
      again = true;
      rest = AGAIN_AFTER;
    }
    clock.after(rest, () => {
      busy = false;
      return again ? run() : undefined;
    });
  }

  return () => {
    again = true;
    if (!busy) void run();
  };
}
