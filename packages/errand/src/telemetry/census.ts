import type { LiveCounts, Store } from '../store.ts';

/** A count is not repeated before it is as old as it took, so many times over: counting takes 1 % of the time at most. */
const REST = 100;
/** Nor before it is so old, in ms. */
const LEAST_REST = 1000;

/** Counts the live tasks of a store, as often as that is cheap. `undefined` where the store cannot say. */
export function createCensus(store: Store): () => Promise<LiveCounts | undefined> {
  let counted: Promise<LiveCounts | undefined> = Promise.resolve(undefined);
  let restUntil = -Infinity;

  async function count(): Promise<LiveCounts | undefined> {
    const began = performance.now();
    try {
      return await store.liveCounts?.();
    } catch {
      return undefined; // away; what is not known is not told
    } finally {
      const now = performance.now();
      restUntil = now + Math.max(LEAST_REST, REST * (now - began));
    }
  }

  return () => {
    if (performance.now() >= restUntil) {
      restUntil = Infinity; // until it is counted
      counted = count();
    }
    return counted;
  };
}
