import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import type { Clock } from '../../clock.ts';
import { contain, type Contained } from '../../engine/containment.ts';
import { LeaseLost, type JournalMismatch } from '../../engine/failures.ts';
import { Journal, type JournalHost } from '../../engine/journal.ts';
import type { RegisteredTool } from '../../engine/registry.ts';
import { toOutcome, toResult } from '../../engine/results.ts';
import type { Run } from '../../engine/run.ts';
import { createTaskContext } from '../../engine/task-context.ts';
import type { Handler } from '../../engine/tool.ts';
import { ErrandError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import type { JournalEntry } from '../../task/journal.ts';
import { isTerminal, type Task, type TaskOutcome } from '../../task/task.ts';
import { describe, finish, hold, park } from '../../task/transitions.ts';
import type { Place } from './place.ts';
import type { TaskRecord } from './record.ts';
import { Timers } from './timers.ts';

/** How long a run that only waits stays in memory, in ms. */
const PARK_AFTER = 1000;

/** How long a replay may take over what the code before it did at once, in ms. */
const STALLED_AFTER = 60_000;

/** How a run came to its end. */
export type RunEnd =
  /** The handler ended; the outcome is on disk if there is a task. */
  | { readonly kind: 'ended'; readonly outcome: TaskOutcome }
  /** It waits, and was let go of. */
  | { readonly kind: 'parked' }
  /** The task ended without it, or is held. */
  | { readonly kind: 'stopped' }
  /** It could not go on; the task is as it was, and must be run again. */
  | { readonly kind: 'abandoned'; readonly cause: unknown };

export interface RunParts {
  readonly record: TaskRecord;
  readonly entries: readonly JournalEntry[];
  readonly tool: RegisteredTool;
  readonly handler: Handler<unknown>;
  readonly args: unknown;
  /** A slot that the run holds when it starts. */
  readonly place: Place;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: Limits;
  readonly onEnd: (end: RunEnd) => void;
}

/** One execution of a handler in this process. */
export class EmbeddedRun implements Run, JournalHost {
  readonly journal: Journal;
  readonly limits: Limits;
  readonly #parts: RunParts;
  // Both are made when somebody asks for them, as most handlers never do.
  #controller: AbortController | undefined;
  #log: Logger | undefined;
  readonly #contained: Contained = { crash: (error) => this.#crash(error) };
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #startedAt: number;
  /** Says to the clock that this run has come to rest. */
  #settled: (() => void) | undefined;
  /** Stops what comes when the run rests for a while. */
  #stopRest: (() => void) | undefined;
  #over = false;
  #aborted = false;
  /** What is to be shown with the next write. */
  #message: string | undefined;
  #showing = false;
  /** The end that comes next is the run's own. */
  #finishing = false;
  /** How long the replay took, in ms. */
  replayMs = 0;

  constructor(parts: RunParts) {
    this.#parts = parts;
    this.limits = parts.limits;
    this.#clock = parts.clock;
    this.#timers = new Timers(parts.clock, () => this.now());
    this.#startedAt = parts.clock.elapsed();
    this.journal = new Journal(parts.entries, this);
    parts.record.onTask((task) => {
      if (isTerminal(task) && !this.#finishing) this.#end({ kind: 'stopped' });
    });
  }

  get task(): Task {
    return this.#parts.record.task;
  }

  get pending(): boolean {
    return this.#parts.record.pending;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = createController();
      if (this.#aborted) this.#controller.abort(taskEnded());
    }
    return this.#controller.signal;
  }

  get log(): Logger {
    if (this.#log === undefined) {
      this.#log = this.#parts.log.child({ tool: this.#parts.tool.name, task: this.task.id });
      if (!this.journal.live) this.#log.level = 'silent'; // what was logged before a crash is not logged again
    }
    return this.#log;
  }

  now(): number {
    return this.#parts.record.now();
  }

  /** Starts the handler. */
  start(): void {
    this.#stir();
    contain(this.#contained, () => void this.#handle());
  }

  async #handle(): Promise<void> {
    const { tool, handler, args } = this.#parts;
    try {
      const result = await toResult(tool, this.limits, await handler(args, createTaskContext(this)));
      await this.#finish({ kind: 'result', result });
    } catch (error) {
      await this.#crash(error);
    }
  }

  async #crash(error: unknown): Promise<void> {
    if (this.#over) return;
    this.log.warn({ err: error }, 'the handler threw');
    await this.#finish(toOutcome(error));
  }

  async #finish(outcome: TaskOutcome): Promise<void> {
    if (this.#over || this.journal.finished) return;
    const { unreached } = this.journal;
    if (unreached !== undefined) return this.mismatch(this.journal.unreachedError(unreached));
    this.#finishing = true;
    if (this.stepping) this.log.info('the handler ended while steps were running; their outcomes are not kept');
    try {
      const entries = this.journal.finish();
      await this.#write((task, now) => finish(task, outcome, now), entries);
      this.#end({ kind: 'ended', outcome });
    } catch (error) {
      this.abandon(error);
    }
  }

  write(transition: (task: Task, now: number) => Task): Promise<Task> {
    return this.#write(transition, this.journal.take());
  }

  /** Every write takes the latest text along, so that none comes too late. */
  #write(transition: (task: Task, now: number) => Task, entries: readonly JournalEntry[]): Promise<Task> {
    const message = this.#message;
    this.#message = undefined;
    return this.#parts.record.write(
      (task, now) => transition(message === undefined ? task : describe(task, message, now), now),
      entries,
    );
  }

  async flush(): Promise<void> {
    await this.write((task) => task);
  }

  describe(message: string): void {
    this.#message = message;
    if (this.journal.live) this.#show();
  }

  /** One write at a time; what comes in between is merged. */
  #show(): void {
    if (this.#showing || this.#message === undefined) return;
    this.#showing = true;
    this.flush().then(() => {
      this.#showing = false;
      this.#show();
    }, this.abandon);
  }

  persist(cause: 'input' | 'sleep'): void {
    this.#parts.record.persist(cause, () => this.journal.take());
  }

  at(time: number, action: () => void): () => void {
    return this.#timers.at(time, action);
  }

  after(ms: number, action: () => void): () => void {
    return this.#timers.after(ms, action);
  }

  busy(work: object): () => void {
    return this.#clock.busy(work);
  }

  onTask(listener: (task: Task) => void): () => void {
    return this.#parts.record.onTask(listener);
  }

  readonly abandon = (cause: unknown): void => {
    // Who lost a task that has not ended looks at it anew: it may be nobody's.
    if (cause instanceof LeaseLost)
      return this.#end(isTerminal(this.task) ? { kind: 'stopped' } : { kind: 'abandoned', cause });
    const away = cause instanceof ErrandError && cause.retryable;
    // What failed for another reason than the store would fail again, and run its effects again.
    if (away || this.journal.finished) return this.#end({ kind: 'abandoned', cause });
    this.log.error({ err: cause }, 'a run failed within');
    void this.#finish(toOutcome(new ErrandError('internal', 'Internal error', { cause })));
  };

  /** Ends the run from outside, without a trace in the task. */
  stop(): void {
    this.#end({ kind: 'stopped' });
  }

  /** Whether a step runs that a drain should wait for. */
  get stepping(): boolean {
    return [...this.journal.calls].some(({ entry }) => entry.kind === 'step');
  }

  // What the journal asks of its run

  caughtUp(): void {
    this.replayMs = this.#clock.elapsed() - this.#startedAt;
    this.#speakUp();
    // What the replay came to last is mostly what is shown already.
    if (this.#message === this.task.statusMessage) this.#message = undefined;
    this.#show();
  }

  #speakUp(): void {
    if (this.#log !== undefined) this.#log.level = this.#parts.log.level;
  }

  resume(): Promise<void> | undefined {
    const granted = this.#parts.place.take();
    this.#stopRest?.();
    // Whoever waits for a slot may wait for time, as the one who has it does.
    if (granted === undefined) this.#stir();
    else this.#settle();
    return granted;
  }

  quiet(): void {
    this.#stopRest?.();
    if (this.#over) return;
    if (this.journal.owed !== undefined) {
      const stalled = (): void => this.mismatch(this.journal.owedError(STALLED_AFTER));
      this.#stopRest = this.#clock.after(STALLED_AFTER, stalled);
    } else if (this.#waits()) {
      this.#parts.place.leave(); // a run that waits holds no slot
      // One that cannot be replayed has to stay.
      const mayPark = this.#parts.record.persisted && this.#parts.tool.replay;
      if (mayPark) this.#stopRest = this.#clock.after(PARK_AFTER, () => void this.#park());
      this.#settle();
    } else if (this.journal.live && !this.journal.busy && this.stepping) {
      void this.#parts.place.take();
      this.#settle(); // effects speak for themselves
    }
  }

  /** From here on the handler is at work, or about to be. */
  #stir(): void {
    this.#stopRest?.();
    this.#settled ??= this.#clock.busy(this);
  }

  #settle(): void {
    this.#settled?.();
    this.#settled = undefined;
  }

  /** Whether all that the handler began are waits, and none of them is over. */
  #waits(): boolean {
    const calls = [...this.journal.calls];
    const idle = this.journal.live && !this.journal.busy && calls.length > 0;
    return idle && calls.every(({ entry }) => entry.kind === 'input' || entry.kind === 'sleep');
  }

  mismatch(error: JournalMismatch): void {
    if (this.#over) return;
    this.log.level = this.#parts.log.level;
    this.log.error(error.message);
    this.journal.close();
    this.#parts.record
      .write((task, now) => hold(task, error.message, now), [])
      .then(() => this.#end({ kind: 'stopped' }), this.abandon);
  }

  async #park(): Promise<void> {
    if (this.journal.ending) return; // the handler goes on as soon as that is on disk
    const { length } = this.journal;
    const calls = [...this.journal.calls].map(({ entry }) => entry);
    const times = calls.map(({ value }) => value).filter((value) => typeof value === 'number');
    const keys = calls.filter(({ kind }) => kind === 'input').map(({ name }) => name);
    let parked = false;
    try {
      await this.write((task) => {
        // The handler may have gone on since, also with what waits for the store behind this.
        const still = this.#waits() && this.journal.length === length;
        parked = still && keys.every((key) => task.inputs[key]?.state === 'open');
        return parked ? park(task, times.length === 0 ? undefined : Math.min(...times)) : task;
      });
      if (parked) this.#end({ kind: 'parked' });
      else this.quiet();
    } catch (error) {
      this.abandon(error);
    }
  }

  /** Stops dead, as with the process: nobody hears of it, the handler neither. */
  halt(): void {
    this.#over = true;
    this.journal.close();
    this.#stopRest?.();
    this.#settle();
    this.#timers.stop();
    this.#parts.record.close();
  }

  #end(end: RunEnd): void {
    if (this.#over) return;
    this.halt();
    this.#parts.place.leave();
    if (end.kind !== 'ended' && end.kind !== 'parked') {
      this.#aborted = true;
      // The handler's listeners run here, maybe in the middle of somebody else's work.
      contain(this.#contained, () => this.#controller?.abort(taskEnded()));
    }
    this.#parts.onEnd(end);
  }
}

function taskEnded(): DOMException {
  return new DOMException('the task ended', 'AbortError');
}

/** For a signal that any number of steps may listen to at once. */
function createController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
