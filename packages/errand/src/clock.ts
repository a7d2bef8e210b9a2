/** The longest that a timer of the platform can wait, in ms. */
const LONGEST = 2 ** 31 - 1;

/**
 * Engine time: all that waits in the engine waits by a clock, so that a test can turn it. What is
 * about the machine (sockets, locks of other processes) goes by the platform's own timers.
 */
export interface Clock {
  /** Ms since the epoch. May be set, and go back: the time of tasks is that of their store. */
  readonly now: () => number;
  /** Ms since some moment; never goes back, however `now` is set. */
  readonly elapsed: () => number;
  /** Calls `action` once in `ms`, however far off, never within this call. Keeps no process alive. Returns how to stop it. */
  readonly after: (ms: number, action: () => unknown) => () => void;
  /** Calls `action` about every `ms`, to look for what nobody told of. Keeps no process alive. Returns how to stop it. */
  readonly every: (ms: number, action: () => unknown) => () => void;
  /** Says that `work` is under way and takes no engine time: a clock that is turned stands still meanwhile. Returns how to say that it is over. */
  readonly busy: (work: object) => () => void;
}

/** The machine's clock, which nobody can hold. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, action) {
    let timer: NodeJS.Timeout;
    const wait = (left: number): void => {
      timer = left > LONGEST ? setTimeout(wait, LONGEST, left - LONGEST) : setTimeout(action, left);
      timer.unref();
    };
    wait(ms);
    return () => clearTimeout(timer);
  },
  every(ms, action) {
    const timer = setInterval(action, ms).unref();
    return () => clearInterval(timer);
  },
  busy: () => nothing,
};

/** Resolves in `ms`. Keeps no process alive. */
export function delay(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

function nothing(): void {
  // The system's clock does not hear of it.
}
