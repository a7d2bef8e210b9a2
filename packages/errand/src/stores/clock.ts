/** A step that is waited out; what is further off is a clock that was wrong, then or now. In ms. */
const FAR = 5 * 60_000;

/**
 * A clock that never goes back while its object lives.
 *
 * Where the system's clock is set back a little, this one stands still until that has caught up.
 * Where it is set back by more than five minutes, waiting would stop every timer for as long, so
 * this one goes on from where it is at the system's pace, and stays ahead until the next start.
 * A time from a file that lies more than five minutes ahead at a start was written under a wrong
 * clock: then the system is believed, or one bad hour in 2040 would freeze the file until 2040.
 */
export class SteadyClock {
  readonly #system: () => number;
  #last = 0;
  #ahead = 0;

  constructor(system: () => number = Date.now) {
    this.#system = system;
  }

  now(): number {
    const time = this.#system() + this.#ahead;
    if (time >= this.#last) {
      this.#last = time;
    } else if (this.#last - time > FAR) {
      this.#ahead += this.#last - time;
    }
    return this.#last;
  }

  /** How far it is ahead of the system's clock, in ms. */
  get lead(): number {
    return Math.max(0, this.now() - this.#system());
  }

  /** Is ahead of the system's clock as far as another one is, but never goes back for it. */
  follow(lead: number): void {
    this.#ahead = lead;
  }

  /** Never reads less than `time` from here on. Returns whether it was believed. */
  startFrom(time: number): boolean {
    if (time - this.now() > FAR) return false;
    this.#last = Math.max(this.#last, time);
    return true;
  }
}
