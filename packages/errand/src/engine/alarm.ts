/** The longest that a timer of the platform can wait, in ms. */
export const LONGEST = 2 ** 31 - 1;

/**
 * Calls `action` at `time` (ms since the epoch, by `now`), however far off. Does not keep the
 * process alive. Returns how to stop it.
 */
export function setAlarm(time: number, now: () => number, action: () => void): () => void {
  // A timer of the platform may fire a little early, and not all clocks run at its pace.
  const wait = (): NodeJS.Timeout => setTimeout(ring, Math.min(Math.max(0, time - now()), LONGEST)).unref();
  const ring = (): void => {
    if (now() < time) timer = wait();
    else action();
  };
  let timer = wait();
  return () => clearTimeout(timer);
}

/** Calls `action` in `ms`, however the clock is set meanwhile. Else like `setAlarm`. */
export function setTimer(ms: number, action: () => void): () => void {
  const now = (): number => performance.now();
  return setAlarm(now() + ms, now, action);
}
