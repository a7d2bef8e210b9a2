import type { Clock } from '../../clock.ts';
import { setAlarm } from '../../engine/alarm.ts';

/** What a run waits for by the clock; it all stops with the run. */
export class Timers {
  readonly #clock: Clock;
  readonly #now: () => number;
  #armed: Set<() => void> | undefined;

  /** `now` is the store's time. */
  constructor(clock: Clock, now: () => number) {
    this.#clock = clock;
    this.#now = now;
  }

  /** Calls `action` at a time of the store, ms since the epoch. Returns how to stop it. */
  at(time: number, action: () => void): () => void {
    return this.#arm((ring) => setAlarm(this.#clock, time, this.#now, ring), action);
  }

  /** Calls `action` in `ms`. Returns how to stop it. */
  after(ms: number, action: () => void): () => void {
    return this.#arm((ring) => this.#clock.after(ms, ring), action);
  }

  stop(): void {
    for (const disarm of this.#armed ?? []) disarm();
  }

  #arm(set: (ring: () => void) => () => void, action: () => void): () => void {
    const disarm = (): void => {
      unset();
      this.#armed!.delete(disarm);
    };
    const unset = set(() => {
      this.#armed!.delete(disarm);
      action();
    });
    (this.#armed ??= new Set()).add(disarm);
    return disarm;
  }
}
