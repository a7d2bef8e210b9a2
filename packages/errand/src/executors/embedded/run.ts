import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import type { Clock } from '../../clock.ts';
import { Subtasks } from '../../engine/calls/subtask.ts';
import { contain, type Contained } from '../../engine/containment.ts';
import { LeaseLost, toFailure, type JournalMismatch } from '../../engine/failures.ts';
import { Journal, type JournalHost } from '../../engine/journal.ts';
import type { RegisteredTool } from '../../engine/registry.ts';
import { toOutcome, toResult } from '../../engine/results.ts';
import { backoffAfter, isWorthAnother } from '../../engine/retry.ts';
import type { Kin, Run } from '../../engine/run.ts';
import { createTaskContext } from '../../engine/task-context.ts';
import type { Handler } from '../../engine/tool.ts';
import { ErrandError } from '../../errors.ts';
import type { Limits } from '../../limits.ts';
import type { LoggedEvent } from '../../task/event.ts';
import { isRepeatable, type CallKind, type JournalEntry } from '../../task/journal.ts';
import { isTerminal, type Task, type TaskOutcome, type ToolResult } from '../../task/task.ts';
import { finish, grow, hold, park, retry } from '../../task/transitions.ts';
import { logBindings, type RunTrace } from '../../telemetry.ts';
import type { Place } from './place.ts';
import type { Gains, TaskRecord } from './record.ts';
import { Showing, type Shown } from './showing.ts';
import { Timers } from './timers.ts';

/** How long a run that only waits stays in memory, in ms. */
const PARK_AFTER = 1000;

/** How long a replay may take over what the code before it did at once, in ms. */
const STALLED_AFTER = 60_000;

/** So many subtasks are made in one command; the event loop goes on between two. */
const BORN_AT_ONCE = 200;

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
  readonly kin: Kin;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: Limits;
  readonly trace: RunTrace | undefined;
  readonly onEnd: (end: RunEnd) => void;
}

/** One execution of a handler in this process. */
export class EmbeddedRun implements Run, JournalHost {
  readonly journal: Journal;
  readonly limits: Limits;
  readonly trace: RunTrace | undefined;
  readonly #parts: RunParts;
  // Both are made when somebody asks for them, as most handlers never do.
  #controller: AbortController | undefined;
  #log: Logger | undefined;
  readonly #contained: Contained = { crash: (error) => this.#crash(error) };
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #startedAt: number;
  readonly #subtasks = new Subtasks(this);
  readonly #showing: Showing;
  /** What the next write takes along. */
  #events: LoggedEvent[] = [];
  #born: Task[] = [];
  #spawning: Promise<unknown> | undefined;
  /** Says to the clock that this run has come to rest. */
  #settled: (() => void) | undefined;
  /** Stops what comes when the run rests for a while. */
  #stopRest: (() => void) | undefined;
  /** Effects that run. */
  #effects = 0;
  #over = false;
  #aborted = false;
  /** The end that comes next is the run's own. */
  #finishing = false;
  /** The handler has returned, and waits for its subtasks. */
  #lingering = false;
  /** How long the replay took, in ms. */
  replayMs = 0;

  constructor(parts: RunParts) {
    this.#parts = parts;
    this.limits = parts.limits;
    this.trace = parts.trace;
    this.#clock = parts.clock;
    this.#timers = new Timers(parts.clock, () => this.now());
    this.#showing = new Showing(
      parts.clock,
      () => this.flush(),
      (error) => this.abandon(error),
    );
    this.#startedAt = parts.clock.elapsed();
    this.journal = new Journal(parts.entries, this);
    this.note({ kind: 'started', replays: parts.entries.length > 0 });
    parts.record.onTask((task) => {
      if (isTerminal(task) && !this.#finishing) this.#end({ kind: 'stopped' });
      else if (task.paused) this.quiet();
    });
  }

  get kin(): Kin {
    return this.#parts.kin;
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
      this.#log = this.#parts.log.child(logBindings(this.task, this.trace));
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
    const handle = (): void => void this.#handle();
    contain(this.#contained, this.trace === undefined ? handle : () => this.trace!.within(handle));
  }

  async #handle(): Promise<void> {
    const { tool, handler, args } = this.#parts;
    try {
      const returned = await handler(args, createTaskContext(this, this.#subtasks));
      await this.#returned(await toResult(tool, this.limits, returned));
    } catch (error) {
      await this.#crash(error);
    }
  }

  async #returned(result: ToolResult): Promise<void> {
    if (this.#over || this.journal.finished) return;
    const { dangling } = this.#subtasks;
    if (dangling !== undefined) throw dangling;
    const outcome: TaskOutcome = { kind: 'result', result };
    if (this.#subtasks.live === 0 || this.journal.unreached !== undefined) return this.#finish(outcome);
    this.#linger(outcome);
  }

  async #crash(error: unknown): Promise<void> {
    if (this.#over || this.journal.finished) return;
    if (await this.#isTriedAgain(error)) return;
    this.log.warn({ err: error }, 'the handler threw');
    await this.#finish(toOutcome(error));
  }

  async #finish(outcome: TaskOutcome): Promise<void> {
    if (this.#over || (this.journal.finished && !this.#lingering)) return;
    const { unreached } = this.journal;
    if (unreached !== undefined && !this.#lingering) return this.mismatch(this.journal.unreachedError(unreached));
    this.#finishing = true;
    if (this.stepping) this.log.info('the handler ended while steps were running; their outcomes are not kept');
    try {
      const gains = { ...this.take(), entries: this.journal.finish() };
      const end = this.#shown((task, now) => finish(task, outcome, now), gains);
      // No subtask may outlive it (S-10).
      await (this.#subtasks.live > 0 ? this.#parts.record.endTree(end, gains) : this.#parts.record.write(end, gains));
      this.#end({ kind: 'ended', outcome });
    } catch (error) {
      this.abandon(error);
    }
  }

  /** A task ends after its subtasks. After a crash the handler returns the same again, so nothing of this is recorded. */
  #linger(outcome: TaskOutcome): void {
    this.#lingering = true;
    const entries = this.journal.finish();
    this.#parts.record.write((task) => task, { ...this.take(), entries }).catch(this.abandon);
    this.#subtasks.settle(() => void this.#finish(outcome));
    if (!this.#finishing) this.quiet();
  }

  /** Has the whole run tried again later, where its tool wants that and the journal allows it. */
  async #isTriedAgain(error: unknown): Promise<boolean> {
    const { tool } = this.#parts;
    const attempt = (this.task.retries ?? 0) + 1;
    if (tool.retry === undefined || !isWorthAnother(attempt, tool.retry, error)) return false;
    const at = this.now() + backoffAfter(attempt, tool.retry);
    if (at >= this.task.deadlineAt || isTerminal(this.task)) return false;
    const end = this.journal.endOf(error);
    try {
      await this.flush();
      if (end !== undefined && !isRepeatable(await this.#parts.record.journal(), end)) return false;
      if (this.#over || this.journal.finished) return true;
      this.journal.retry(end);
      this.note({ kind: 'retried', attempt, failure: toFailure(error, tool.name), next: at });
      this.log.warn({ err: error, attempt, at }, 'the handler threw; it is tried again');
      this.persist('wait');
      await this.write((task) => retry(task, at));
      this.#end({ kind: 'parked' });
    } catch (cause) {
      this.abandon(cause);
    }
    return true;
  }

  write(transition: (task: Task, now: number) => Task): Promise<Task> {
    const gains = this.take();
    return this.#parts.record.write(this.#shown(transition, gains), gains);
  }

  /** What is to be kept with the next write. */
  take(): Gains & { events: LoggedEvent[] } {
    const gains = { entries: this.journal.take(), events: this.#events, subtasks: this.#born };
    this.#events = [];
    this.#born = [];
    return gains;
  }

  /** Every write takes along what is to be shown, so that none comes too late. */
  #shown(
    transition: (task: Task, now: number) => Task,
    gains: Gains & { events: LoggedEvent[] },
  ): (task: Task, now: number) => Task {
    const shown = this.#showing.take();
    const made = gains.subtasks.length;
    if (shown === undefined && made === 0) return transition;
    if (shown !== undefined) gains.events.push(shown.event);
    return (task, now) => transition(grow(shown?.apply(task, now) ?? task, made, now), now);
  }

  async flush(): Promise<void> {
    await this.write((task) => task);
  }

  show(shown: Shown): void {
    this.#showing.put(shown);
    if (this.journal.live) this.#showing.hurry();
  }

  note(event: LoggedEvent): void {
    this.#events.push(event);
  }

  persist(cause: 'wait' | 'sleep'): void {
    this.#parts.record.persist(cause, () => this.take());
  }

  spawn(subtask: Task): Promise<unknown> {
    this.#born.push(subtask);
    this.note({ kind: 'subtask', key: subtask.parent!.key, taskId: subtask.id, tool: subtask.tool });
    if (this.#born.length >= BORN_AT_ONCE) return this.flush();
    return (this.#spawning ??= this.#spawnSoon());
  }

  /** Most handlers begin several at once. */
  async #spawnSoon(): Promise<void> {
    const over = this.#clock.busy(this.#born);
    await new Promise((resolve) => setImmediate(resolve));
    this.#spawning = undefined;
    await this.flush().finally(over);
  }

  resumed(): Promise<void> | undefined {
    if (!this.task.paused) return undefined;
    return new Promise((resolve) => {
      const unlisten = this.onTask((task) => {
        if (task.paused) return;
        unlisten();
        resolve();
      });
    });
  }

  at(time: number, action: () => void): () => void {
    return this.#timers.at(time, action);
  }

  after(ms: number, action: () => void): () => void {
    return this.#timers.after(ms, action);
  }

  busy(work: object): () => void {
    const over = this.#clock.busy(work);
    this.#effects++;
    return () => {
      over();
      this.#effects--;
      if (this.task.paused) this.quiet();
    };
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
    this.#showing.settle(this.task);
    this.#showing.hurry();
  }

  #speakUp(): void {
    if (this.#log !== undefined) this.#log.level = this.#parts.log.level;
  }

  resume(): Promise<void> | undefined {
    const resumed = this.resumed();
    if (resumed !== undefined) {
      this.#settle();
      return resumed;
    }
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
    if (this.task.paused) {
      if (this.#effects > 0) return; // the end of the last one comes back here
      this.#rest();
    } else if (this.journal.owed !== undefined) {
      const stalled = (): void => this.mismatch(this.journal.owedError(STALLED_AFTER));
      this.#stopRest = this.#clock.after(STALLED_AFTER, stalled);
    } else if (this.#waits()) {
      this.#rest();
    } else if (this.journal.live && !this.journal.busy && this.stepping) {
      void this.#parts.place.take();
      this.#settle(); // effects speak for themselves
    }
  }

  /** Holds no slot, and is let go of after a while: but for a run that cannot be replayed, which has to stay. */
  #rest(): void {
    this.#parts.place.leave();
    const mayPark = this.#parts.record.persisted && this.#parts.tool.replay;
    if (mayPark) this.#stopRest = this.#clock.after(PARK_AFTER, () => void this.#park());
    this.#settle();
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
    if (this.#lingering) return true;
    const calls = [...this.journal.calls];
    const idle = this.journal.live && !this.journal.busy && calls.length > 0;
    return idle && calls.every(({ entry }) => WAITS.has(entry.kind));
  }

  mismatch(error: JournalMismatch): void {
    if (this.#over) return;
    this.log.level = this.#parts.log.level;
    this.log.error(error.message);
    this.journal.close();
    const gains: Gains = { entries: [], events: [{ kind: 'held', reason: error.message }], subtasks: [] };
    this.#parts.record
      .write((task, now) => hold(task, error.message, now), gains)
      .then(() => this.#end({ kind: 'stopped' }), this.abandon);
  }

  async #park(): Promise<void> {
    if (this.journal.ending) return; // the handler goes on as soon as that is on disk
    const { length } = this.journal;
    const calls = [...this.journal.calls].map(({ entry }) => entry);
    const times = calls.map(({ value }) => value).filter((value) => typeof value === 'number');
    const keys = calls.filter(({ kind }) => kind === 'input').map(({ name }) => name);
    let parked = false;
    const mayGo = (task: Task): boolean => {
      // What was committed and is not known here may be what the handler waits for.
      if (task.version !== this.task.version || this.journal.length !== length) return false;
      if (task.paused) return this.#effects === 0;
      return this.#waits() && keys.every((key) => task.inputs[key]?.state === 'open');
    };
    this.note({ kind: 'parked' });
    try {
      await this.write((task) => {
        parked = mayGo(task);
        if (!parked) return task;
        return park(task, task.paused ? task.wakeAt : times.length === 0 ? undefined : Math.min(...times));
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
    this.#showing.stop();
    this.#parts.record.close();
  }

  #end(end: RunEnd): void {
    if (this.#over) return;
    this.halt();
    this.trace?.end(end);
    this.#parts.place.leave();
    if (end.kind !== 'ended' && end.kind !== 'parked') {
      this.#aborted = true;
      // The handler's listeners run here, maybe in the middle of somebody else's work.
      contain(this.#contained, () => this.#controller?.abort(taskEnded()));
    }
    this.#parts.onEnd(end);
  }
}

/** What a run waits for without doing anything. */
const WAITS: ReadonlySet<CallKind> = new Set(['input', 'sleep', 'subtask', 'steering']);

function taskEnded(): DOMException {
  return new DOMException('the task ended', 'AbortError');
}

/** For a signal that any number of steps may listen to at once. */
function createController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
