/** The longest that a timer of the platform can wait (2^31 - 1 ms is the limit). */
const LONGEST = 2 ** 31 - 1;

/**
 * Calls `action` at `time` (ms since the epoch, by `now`), however far off. Does not keep the
 * process alive. Returns how to stop it.
 */
export function setAlarm(time: number, now: () => number, action: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const left = time - now();
    timer = left > LONGEST ? setTimeout(arm, LONGEST) : setTimeout(action, Math.max(0, left));
    timer.unref();
  };
  arm();
  return () => clearTimeout(timer);
}
