import { delay, type Clock } from '../clock.ts';
import { ErrandError } from '../errors.ts';
import { principalKey, type Principal } from '../task/principal.ts';

/** Nobody's read waits longer than this, in ms; what would is refused, with the wait. */
const LONGEST_WAIT = 5000;

/** A bucket of reads that a principal may make at once; it fills up again as time passes. */
interface Bucket {
  reads: number;
  /** When it was last filled, in ms by the clock's `elapsed`. */
  filledAt: number;
}

/**
 * Paces the reads of each principal at `perSecond`, twice as many in a burst. Gives `undefined`
 * where a read may go on at once, else a promise of its turn.
 */
export function createPollPacer(perSecond: number, clock: Clock): (principal: Principal) => Promise<void> | undefined {
  const burst = 2 * perSecond;
  const buckets = new Map<string, Bucket>();
  let sweepAt = clock.elapsed();

  return (principal) => {
    if (perSecond === Infinity) return undefined;
    const now = clock.elapsed();
    if (now >= sweepAt) sweep(now);
    const key = principalKey(principal);
    const bucket = buckets.get(key) ?? { reads: burst, filledAt: now };
    buckets.set(key, bucket);
    bucket.reads = Math.min(burst, bucket.reads + ((now - bucket.filledAt) * perSecond) / 1000);
    bucket.filledAt = now;
    const wait = ((1 - bucket.reads) / perSecond) * 1000;
    if (wait > LONGEST_WAIT) return Promise.reject(tooMany(perSecond, wait));
    bucket.reads -= 1;
    return wait > 0 ? delay(clock, wait) : undefined;
  };

  /** A bucket that is full again need not be kept. */
  function sweep(now: number): void {
    sweepAt = now + 10_000;
    for (const [key, { filledAt }] of buckets) if (now - filledAt > 2000) buckets.delete(key);
  }
}

function tooMany(perSecond: number, wait: number): ErrandError {
  const retryAfterMs = Math.ceil(wait);
  return new ErrandError(
    'overloaded',
    `tasks are read ${perSecond} times a second at most; honour pollIntervalMs, or subscribe`,
    {
      data: { retryAfterMs },
    },
  );
}
