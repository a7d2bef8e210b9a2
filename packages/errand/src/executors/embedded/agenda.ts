import type { Logger } from 'pino';
import type { Clock } from '../../clock.ts';
import { setAlarm } from '../../engine/alarm.ts';
import { releasing } from '../../engine/control.ts';
import type { Store } from '../../store.ts';
import { isTerminal, type Task } from '../../task/task.ts';

/** How often the store is asked for what no notification told of, in ms. */
const SCAN_EVERY = 1000;
/** How far back a scan looks, for what was committed later than it was decided, in ms. */
const SCAN_OVERLAP = 10_000;
/** So many due tasks are read at once. */
const READ_AT_ONCE = 200;
/** A replay that costs less than a tenth of this needs no rest before the next one, in ms. */
const LEAST_REST = 50;

/** What is known of a task that is to run. */
export type Due = Pick<Task, 'id' | 'tool' | 'parent'>;

/** Whoever runs what is due. */
export interface Doer {
  /** Whether a task is in hand, or waits for its turn. */
  has(id: string): boolean;
  run(task: Due): void;
}

/** When which task is to be looked at. Notifications are hints; a scan each second finds what they missed. */
export class Agenda {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #doer: Doer;
  /**
   * Until when tasks whose replay is slow are left alone, so that many wakes cost few replays; by the clock's
   * `elapsed`, as the store's time may stand still.
   */
  readonly #resting = new Map<string, number>();
  #heldReleased = false;
  #scannedUntil = -Infinity;
  #scanning = false;
  #again = false;
  #closed = false;

  constructor(store: Store, clock: Clock, log: Logger, doer: Doer) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#doer = doer;
  }

  /** Begins to scan, and resolves after the first scan. */
  async open(): Promise<() => void> {
    const stop = this.#clock.every(SCAN_EVERY, () => this.scan());
    await this.scan();
    return () => {
      this.#closed = true;
      stop();
    };
  }

  /** Takes note of a later state of a task. */
  hear(task: Task): void {
    if (isTerminal(task)) return void this.#resting.delete(task.id);
    if (task.wakeAt === undefined || task.paused) return;
    // What is due later than the next scan is found by a scan.
    if (task.wakeAt - this.#store.now() < 2 * SCAN_EVERY) this.at(task.wakeAt, task);
  }

  /** Has a task run at a time, ms since the epoch, or when it has rested. */
  at(time: number, task: Due): void {
    const { id, tool, parent } = task;
    if (this.#closed) return;
    const again = (): void => this.at(time, { id, tool, ...(parent && { parent }) }); // the rest of it need not wait
    if (time > this.#store.now()) return void setAlarm(this.#clock, time, () => this.#store.now(), again);
    const rest = (this.#resting.get(id) ?? 0) - this.#clock.elapsed();
    if (rest > 0) return void this.#clock.after(rest, again);
    this.#resting.delete(id);
    if (!this.#doer.has(id)) this.#doer.run(task);
  }

  /** Leaves a task alone for as long as ten of its replays take, `replayMs` each. */
  rest(id: string, replayMs: number): void {
    if (10 * replayMs > LEAST_REST) this.#resting.set(id, this.#clock.elapsed() + 10 * replayMs);
  }

  async scan(): Promise<void> {
    this.#again = this.#scanning; // what became due meanwhile may have been missed
    if (this.#scanning || this.#closed) return;
    this.#scanning = true;
    this.#forgetRested();
    try {
      await this.#releaseHeld();
      const until = this.#store.now();
      const due = await this.#store.due(this.#scannedUntil - SCAN_OVERLAP, until);
      const ids = due.map(({ id }) => id).filter((id) => !this.#doer.has(id));
      for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
        const tasks = await Promise.all(ids.slice(from, from + READ_AT_ONCE).map((id) => this.#store.read(id)));
        for (const task of tasks) if (task !== undefined && !this.#doer.has(task.id)) this.hear(task);
      }
      this.#scannedUntil = until;
    } catch (error) {
      this.#log.error({ err: error }, 'cannot read which tasks are due; trying again');
    } finally {
      this.#scanning = false;
    }
    if (this.#again) await this.scan();
  }

  /** Who has rested may wait for long, and must hold no memory meanwhile. */
  #forgetRested(): void {
    const now = this.#clock.elapsed();
    for (const [id, until] of this.#resting) if (until <= now) this.#resting.delete(id);
  }

  /** Once in an owner's life: new code may fit what the code before could not go on with. */
  async #releaseHeld(): Promise<void> {
    if (this.#heldReleased) return;
    const held = await this.#store.held();
    await Promise.all(held.map((id) => this.#store.change(id, (task) => releasing(task, this.#store.now()))));
    this.#heldReleased = true;
  }
}
