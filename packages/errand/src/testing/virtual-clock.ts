import type { Clock } from '../clock.ts';
import { toMs, type Duration } from '../duration.ts';
import { currentEffect, isEffect } from '../engine/calls/effect.ts';

/** Where a virtual clock starts unless it is told otherwise. */
export const START = Date.UTC(2026, 0, 1);

/** A turn in which nothing happened may be one of a commit; after so many of them nothing is under way. */
const QUIET_TURNS = 12;

/** How long it stands still for an effect before it passes time that is near, in ms: the effect may wait for the test. */
const GLANCE = 50;

/** What is near, seen from where an effect began, in ms, where the test does not say how far to go. */
const NEAR = 1000;

/** How often it looks at an effect that takes longer than a glance, in ms. */
const LOOK_EVERY = 5;

/** A clock that stands still until it is turned. */
export interface VirtualClock extends Clock {
  /** Lets so much time pass: rings all that is due on the way, in order, and lets everything come to rest in between. */
  advance(by: Duration): Promise<void>;
  /** Lets time pass until then; ms since the epoch, or a date. Rejects where that is past. */
  advanceTo(time: number | Date): Promise<void>;
  /** Lets time pass until the next timer rings. Resolves with `false`, at once, where there is none. */
  advanceToNext(): Promise<boolean>;
  /** Lets everything go as far as it comes without time. */
  settle(): Promise<void>;
  /** How often it went far ahead while effects were under way that took longer than its patience. */
  overtook(): number;
  /** Resolves when so much time has passed: for effects that take long. Rejects with the signal's reason when it aborts. */
  sleep(duration: Duration, options?: { readonly signal?: AbortSignal }): Promise<void>;
}

export interface VirtualClockOptions {
  /** What it shows at first. Default 2026-01-01T00:00:00Z. */
  readonly start?: number | Date;
  /**
   * How long, in real time, it stands still for an effect that takes real time, such as a request, before it goes
   * far ahead of where the effect began: beyond a second by `advanceToNext`, which a client's `run` and `until` go
   * by. For nearer times, and for `advance`, it waits 50 ms at most. What takes longer is passed by, since
   * it may wait for the test itself. Default 3 s. Effects that wait for the clock's own `sleep` are passed by at once.
   */
  readonly patience?: Duration;
}

/** Makes a clock for `testErrand`: a month passes in a millisecond, and not before the test says so. */
export function virtualClock({ start = START, patience = '3s' }: VirtualClockOptions = {}): VirtualClock {
  const time = Number(start);
  if (!Number.isFinite(time)) throw new TypeError('virtualClock: start is a date, or ms since the epoch');
  return new TurnedClock(time, toMs(patience, 'virtualClock: patience'));
}

interface Timer {
  readonly at: number;
  readonly action: () => unknown;
}

interface Interval {
  readonly ms: number;
  readonly action: () => unknown;
  next: number;
}

/** Work that is under way, since when by the clock, and for how many ms it was looked at in vain. */
interface Work {
  readonly work: object;
  readonly since: number;
  waited: number;
}

/** Where a turn goes to, and how far from where an effect began is near. */
interface Leap {
  readonly to: number;
  readonly near: number;
}

class TurnedClock implements VirtualClock {
  readonly #start: number;
  /** How long work is waited for that takes real time, in ms. A ms in which this process is busy is none. */
  readonly #patience: number;
  #time: number;
  /** By time, and in the order in which they were set. */
  readonly #timers: Timer[] = [];
  readonly #intervals = new Set<Interval>();
  readonly #underWay = new Set<Work>();
  /** Effects that wait for this clock, and how often at once. */
  readonly #sleeping = new Map<object, number>();
  /** Grows whenever something happens. */
  #happened = 0;
  #overtook = 0;
  #turning: Promise<unknown> = Promise.resolve();

  constructor(start: number, patience: number) {
    this.#start = start;
    this.#patience = patience;
    this.#time = start;
  }

  readonly now = (): number => this.#time;

  readonly elapsed = (): number => this.#time - this.#start;

  readonly after = (ms: number, action: () => unknown): (() => void) => {
    this.#happened++;
    if (!(ms > 0)) return this.#soon(action);
    const timer: Timer = { at: this.#time + ms, action };
    this.#timers.splice(this.#placeAfter(timer.at), 0, timer);
    return () => {
      this.#happened++;
      const index = this.#timers.lastIndexOf(timer, this.#placeAfter(timer.at) - 1);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  };

  readonly every = (ms: number, action: () => unknown): (() => void) => {
    const interval: Interval = { ms, action, next: this.#time + ms };
    this.#intervals.add(interval);
    return () => void this.#intervals.delete(interval);
  };

  readonly busy = (work: object): (() => void) => {
    this.#happened++;
    const entry: Work = { work, since: this.#time, waited: 0 };
    this.#underWay.add(entry);
    return () => {
      this.#happened++;
      this.#underWay.delete(entry);
    };
  };

  async advance(by: Duration): Promise<void> {
    const ms = toMs(by, 'advance');
    await this.#turn(() => this.#goTo(this.#time + ms));
  }

  async advanceTo(time: number | Date): Promise<void> {
    await this.#turn(() => {
      if (!(Number(time) >= this.#time)) throw new RangeError(`the clock does not go back, to ${String(time)}`);
      return this.#goTo(Number(time));
    });
  }

  advanceToNext(): Promise<boolean> {
    return this.#turn(async () => {
      await this.#settle();
      const next = this.#timers[0];
      if (next === undefined) return false;
      // What an effect came to meanwhile may be all that was waited for.
      if (!(await this.#waitBefore({ to: next.at, near: NEAR }))) await this.#goTo(next.at);
      return true;
    });
  }

  readonly overtook = (): number => this.#overtook;

  settle(): Promise<void> {
    return this.#turn(() => this.#settle());
  }

  async sleep(duration: Duration, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const ms = toMs(duration, 'sleep');
    signal?.throwIfAborted();
    const effect = currentEffect();
    this.#sleeps(effect, 1);
    let stop!: () => void;
    let giveUp!: () => void;
    try {
      await new Promise<void>((resolve, reject) => {
        stop = this.after(ms, resolve);
        giveUp = () => reject(signal!.reason as Error);
        signal?.addEventListener('abort', giveUp, { once: true });
      });
    } finally {
      stop();
      signal?.removeEventListener('abort', giveUp);
      this.#sleeps(effect, -1);
    }
  }

  #sleeps(effect: object | undefined, difference: 1 | -1): void {
    if (effect === undefined) return;
    const sleeps = (this.#sleeping.get(effect) ?? 0) + difference;
    if (sleeps > 0) this.#sleeping.set(effect, sleeps);
    else this.#sleeping.delete(effect);
  }

  /** One turn of the clock at a time, in the order in which they were asked for. */
  #turn<T>(turn: () => Promise<T>): Promise<T> {
    const turned = this.#turning.then(turn);
    this.#turning = turned.catch(() => undefined);
    return turned;
  }

  async #goTo(target: number): Promise<void> {
    await this.#settle();
    for (let next = this.#timers[0]; next !== undefined && next.at <= target; next = this.#timers[0]) {
      this.#time = next.at;
      await this.#ring();
    }
    if (this.#time === target) return;
    this.#time = target;
    await this.#ring();
  }

  /** Rings all that is due. As in the event loop, what a timer does at once is done before the next one rings. */
  async #ring(): Promise<void> {
    while (this.#timers[0] !== undefined && this.#timers[0].at <= this.#time) {
      this.#do(this.#timers.shift()!.action);
      await Promise.resolve();
    }
    for (const interval of this.#intervals) {
      if (interval.next > this.#time) continue;
      // After a leap it looks once, not once for each time that it would have looked.
      interval.next = this.#time + interval.ms;
      this.#do(interval.action);
    }
    await this.#settle();
  }

  #do(action: () => unknown): void {
    this.#happened++;
    const done = action();
    if (done instanceof Promise) void done.finally(this.busy(done));
  }

  /** What is due at once needs no time to pass. */
  #soon(action: () => unknown): () => void {
    const over = this.busy(action);
    const immediate = setImmediate(() => {
      over();
      this.#do(action);
    });
    return () => {
      over();
      clearImmediate(immediate);
    };
  }

  /** Stands still for effects that began far before where it goes. Resolves with whether anything came of that. */
  async #waitBefore(leap: Leap): Promise<boolean> {
    const far = [...this.#underWay].filter((entry) => this.#isFar(entry, leap));
    if (far.length === 0) return false;
    const before = this.#happened;
    if (far.some(({ waited }) => waited < this.#patience)) await this.#settle(leap);
    if (this.#happened !== before) return true;
    this.#overtook++;
    return false;
  }

  /** Of an effect only: a handler that is at work without one may wait for whatever. */
  #isFar({ work, since }: Work, { to, near }: Leap): boolean {
    return isEffect(work) && to - since > near && !this.#sleeping.has(work);
  }

  async #settle(leap?: Leap): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS;) {
      const before = this.#happened;
      await new Promise((resolve) => setImmediate(resolve));
      quiet = this.#happened === before ? quiet + 1 : 0;
      if (quiet < QUIET_TURNS) continue;
      const ms = this.#look(leap);
      if (ms === 0) return;
      await new Promise((resolve) => setTimeout(resolve, ms));
      quiet = 0;
    }
  }

  /** For how many ms to wait for work that is under way, and worth it. */
  #look(leap: Leap | undefined): number {
    const glanced = Math.min(GLANCE, this.#patience);
    const worth = [...this.#underWay].filter((entry) => {
      const patience = leap !== undefined && this.#isFar(entry, leap) ? this.#patience : glanced;
      return entry.waited < patience && !this.#sleeping.has(entry.work);
    });
    if (worth.length === 0) return 0;
    const ms = worth.some(({ waited }) => waited < glanced) ? 1 : LOOK_EVERY;
    for (const entry of worth) entry.waited += ms;
    return ms;
  }

  /** Where a timer goes that is set now: behind all that ring by then. */
  #placeAfter(at: number): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#timers[middle]!.at <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
