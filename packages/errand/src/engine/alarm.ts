import type { Clock } from '../clock.ts';

/** How long it waits at most where `now` stands still right before its time, in ms. */
const LONGEST_PAUSE = 250;

/**
 * Calls `action` at `time` (ms since the epoch, by `now`), however far off. Does not keep the
 * process alive. Returns how to stop it.
 */
export function setAlarm(clock: Clock, time: number, now: () => number, action: () => unknown): () => void {
  // A timer may fire a little early, and what `now` reads need not run at the pace of timers.
  let pause = 1;
  const ring = (): unknown => {
    if (now() >= time) return action();
    stop = clock.after(Math.max(time - now(), pause), ring);
    pause = Math.min(2 * pause, LONGEST_PAUSE);
    return undefined;
  };
  let stop = clock.after(Math.max(0, time - now()), ring);
  return () => stop();
}
