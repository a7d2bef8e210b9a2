import type { Clock } from '../clock.ts';

/**
 * Calls `action` at `time` (ms since the epoch, by `now`), however far off. Does not keep the
 * process alive. Returns how to stop it.
 */
export function setAlarm(clock: Clock, time: number, now: () => number, action: () => unknown): () => void {
  // A timer may fire a little early, and what `now` reads need not run at the pace of timers.
  const ring = (): unknown => {
    if (now() >= time) return action();
    stop = clock.after(time - now(), ring);
    return undefined;
  };
  let stop = clock.after(Math.max(0, time - now()), ring);
  return () => stop();
}
