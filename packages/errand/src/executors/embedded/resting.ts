import type { Clock } from '../../clock.ts';
import type { Journal } from '../../engine/journal.ts';
import type { JournalMismatch } from '../../engine/failures.ts';
import type { LoggedEvent } from '../../task/event.ts';
import type { CallKind } from '../../task/journal.ts';
import type { Task } from '../../task/task.ts';
import { park } from '../../task/transitions.ts';
import type { Place } from './place.ts';
import type { Transition } from './record.ts';

/** How long a run that only waits stays in memory, in ms. */
const PARK_AFTER = 1000;

/** How long a replay may take over what the code before it did at once, in ms. */
const STALLED_AFTER = 60_000;

/** What a run waits for without doing anything. */
const WAITS: ReadonlySet<CallKind> = new Set(['input', 'sleep', 'subtask', 'steering']);

/** A run, as far as its rest goes. */
export interface Restful {
  readonly journal: Journal;
  readonly task: Task;
  /** Whether the run can be let go of: it is on disk, and can be replayed. */
  readonly mayPark: boolean;
  /** Whether the handler has returned, and its subtasks are waited for. */
  readonly lingers: boolean;
  /** Whether a step was begun that has not ended. */
  readonly stepping: boolean;
  note(event: LoggedEvent): void;
  write(transition: Transition): Promise<Task>;
  /** Whether the handler waits for what can never come. Then it is told. */
  isStuck(): boolean;
  /** Called once the run is let go of. */
  parked(): void;
  mismatch(error: JournalMismatch): void;
  abandon(cause: unknown): void;
  onTask(listener: (task: Task) => void): () => void;
}

/** When a run holds a slot, when it rests, and when it is let go of. */
export class Resting {
  readonly #run: Restful;
  readonly #place: Place;
  readonly #clock: Clock;
  /** Says to the clock that this run has come to rest. */
  #settled: (() => void) | undefined;
  /** Stops what comes when the run rests for a while. */
  #stopRest: (() => void) | undefined;
  /** Effects that run. */
  #effects = 0;
  #onIdle: (() => void) | undefined;

  constructor(run: Restful, place: Place, clock: Clock) {
    this.#run = run;
    this.#place = place;
    this.#clock = clock;
  }

  /** From here on the handler is at work, or about to be. */
  stir(): void {
    this.#stopRest?.();
    this.#settled ??= this.#clock.busy(this);
  }

  /** Called before the handler goes on; a promise says when it may. */
  resume(): Promise<void> | undefined {
    const resumed = this.resumed();
    if (resumed !== undefined) {
      this.#settle();
      return resumed;
    }
    const granted = this.#place.take();
    this.#stopRest?.();
    // Whoever waits for a slot may wait for time, as the one who has it does.
    if (granted === undefined) this.stir();
    else this.#settle();
    return granted;
  }

  /** Resolves when the task is not paused any more. `undefined` where it is not. */
  resumed(): Promise<void> | undefined {
    if (!this.#run.task.paused) return undefined;
    return new Promise((resolve) => {
      const unlisten = this.#run.onTask((task) => {
        if (task.paused) return;
        unlisten();
        resolve();
      });
    });
  }

  /** Counts an effect that runs. Returns how to say that it is over. */
  busy(work: object): () => void {
    const over = this.#clock.busy(work);
    this.#effects++;
    return () => {
      over();
      this.#effects--;
      if (this.#effects === 0) this.#onIdle?.();
      if (this.#run.task.paused) this.quiet();
    };
  }

  /** Resolves when no effect runs. */
  async idle(): Promise<void> {
    if (this.#effects === 0) return;
    this.#settle(); // effects speak for themselves
    await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  /** Whether an effect runs. */
  get hasEffects(): boolean {
    return this.#effects > 0;
  }

  /** Nothing is left to tell the handler: what comes next is up to it, and to what is open. */
  quiet(): void {
    const { journal, task } = this.#run;
    this.#stopRest?.();
    if (task.paused) {
      if (this.#effects > 0) return; // the end of the last one comes back here
      this.#rest();
    } else if (journal.owed !== undefined) {
      const stalled = (): void => this.#run.mismatch(journal.owedError(STALLED_AFTER));
      this.#stopRest = this.#clock.after(STALLED_AFTER, stalled);
    } else if (this.#waits()) {
      this.#rest();
    } else if (journal.live && !journal.busy && this.#run.stepping) {
      void this.#place.take();
      this.#settle(); // effects speak for themselves
    }
  }

  stop(): void {
    this.#stopRest?.();
    this.#settle();
  }

  /** Holds no slot, and is let go of after a while: but for a run that cannot be replayed, which has to stay. */
  #rest(): void {
    this.#place.leave();
    if (this.#run.mayPark) this.#stopRest = this.#clock.after(PARK_AFTER, () => void this.#park());
    this.#settle();
  }

  #settle(): void {
    this.#settled?.();
    this.#settled = undefined;
  }

  /** Whether all that the handler began are waits, and none of them is over. */
  #waits(): boolean {
    const { journal, lingers } = this.#run;
    if (lingers) return true;
    const calls = [...journal.calls];
    const idle = journal.live && !journal.busy && calls.length > 0;
    return idle && calls.every(({ entry }) => WAITS.has(entry.kind));
  }

  async #park(): Promise<void> {
    const { journal } = this.#run;
    if (journal.ending || this.#effects > 0) return this.quiet(); // not yet
    if (this.#run.isStuck()) return;
    const { length } = journal;
    const calls = [...journal.calls].map(({ entry }) => entry);
    const times = calls.map(({ value }) => value).filter((value) => typeof value === 'number');
    const keys = calls.filter(({ kind }) => kind === 'input').map(({ name }) => name);
    const mayGo = (task: Task): boolean => {
      // What was committed and is not known here may be what the handler waits for.
      if (task.version !== this.#run.task.version || journal.length !== length) return false;
      if (this.#effects > 0) return false;
      return task.paused === true || (this.#waits() && keys.every((key) => task.inputs[key]?.state === 'open'));
    };
    let gone = false;
    this.#run.note({ kind: 'parked' });
    try {
      await this.#run.write((task) => {
        gone = mayGo(task);
        if (!gone) return task;
        return park(task, task.paused ? task.wakeAt : times.length === 0 ? undefined : Math.min(...times));
      });
      if (gone) this.#run.parked();
      else this.quiet();
    } catch (error) {
      this.#run.abandon(error);
    }
  }
}
