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
import { isRepeatable, type JournalEntry } from '../../task/journal.ts';
import { isTerminal, type Task, type TaskOutcome, type ToolResult } from '../../task/task.ts';
import { finish, hold, retry } from '../../task/transitions.ts';
import { logBindings, type RunTrace } from '../../telemetry.ts';
import { Outbox } from './outbox.ts';
import type { Place } from './place.ts';
import { NOTHING, type Parcel, type TaskRecord, type Transition } from './record.ts';
import { Resting, type Restful } from './resting.ts';
import type { Shown } from './showing.ts';
import { Timers } from './timers.ts';

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
export class EmbeddedRun implements Run, JournalHost, Restful {
  readonly journal: Journal;
  readonly limits: Limits;
  readonly trace: RunTrace | undefined;
  readonly #parts: RunParts;
  // All three are made when somebody asks for them, as most handlers never do.
  #subtasks: Subtasks | undefined;
  #controller: AbortController | undefined;
  #log: Logger | undefined;
  // What it rejected with would come back to it, for ever.
  readonly #contained: Contained = { crash: (error) => void this.#crash(error).catch(this.abandon) };
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #startedAt: number;
  readonly #outbox: Outbox;
  readonly #resting: Resting;
  #over = false;
  /** From here on no effect begins. */
  draining = false;
  #aborted = false;
  /** The end that comes next is the run's own. */
  #finishing = false;
  lingers = false;
  /** How long the replay took, in ms. */
  replayMs = 0;

  constructor(parts: RunParts) {
    this.#parts = parts;
    this.limits = parts.limits;
    this.trace = parts.trace;
    this.#clock = parts.clock;
    this.#timers = new Timers(parts.clock, () => this.now());
    this.#outbox = new Outbox(parts.clock, () => this.flush(), this.abandon);
    this.#resting = new Resting(this, parts.place, parts.clock);
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
    this.#resting.stir();
    const handle = (): void => void this.#handle();
    contain(this.#contained, this.trace === undefined ? handle : () => this.trace!.within(handle));
  }

  async #handle(): Promise<void> {
    const { tool, handler, args } = this.#parts;
    try {
      const returned = await handler(
        args,
        createTaskContext(this, () => (this.#subtasks ??= new Subtasks(this))),
      );
      await this.#returned(await toResult(tool, this.limits, returned));
    } catch (error) {
      await this.#crash(error);
    }
  }

  async #returned(result: ToolResult): Promise<void> {
    if (this.#over || this.journal.finished) return;
    const dangling = this.#subtasks?.dangling;
    if (dangling !== undefined) throw dangling;
    const outcome: TaskOutcome = { kind: 'result', result };
    if (!this.#hasSubtasks || this.journal.unreached !== undefined) return this.#finish(outcome);
    this.#linger(outcome);
  }

  async #crash(error: unknown): Promise<void> {
    if (this.#over || this.journal.finished) return;
    let cause = error;
    try {
      if (await this.#isTriedAgain(error)) return;
    } catch (thrown) {
      cause = thrown; // `retry.when` is the user's, and may throw, too
    }
    this.log.warn({ err: cause }, 'the handler threw');
    await this.#finish(toOutcome(cause));
  }

  async #finish(outcome: TaskOutcome): Promise<void> {
    if (this.#over || (this.journal.finished && !this.lingers)) return;
    const { unreached } = this.journal;
    if (unreached !== undefined && !this.lingers) return this.mismatch(this.journal.unreachedError(unreached));
    this.#finishing = true;
    if (this.stepping) this.log.info('the handler ended while steps were running; their outcomes are not kept');
    try {
      const { gains, with: shown } = this.#outbox.take(this.journal.finish());
      const end = shown((task, now) => finish(task, outcome, now));
      // No subtask may outlive it (S-10).
      await (this.#hasSubtasks ? this.#parts.record.endTree(end, gains) : this.#parts.record.write(end, gains));
      this.#end({ kind: 'ended', outcome });
    } catch (error) {
      this.abandon(error);
    }
  }

  /** Whether subtasks are left that have not ended. */
  get #hasSubtasks(): boolean {
    return this.#subtasks !== undefined && this.#subtasks.live > 0;
  }

  /** A task ends after its subtasks. After a crash the handler returns the same again, so nothing of this is recorded. */
  #linger(outcome: TaskOutcome): void {
    this.lingers = true;
    const { gains, with: shown } = this.#outbox.take(this.journal.finish());
    this.#parts.record
      .write(
        shown((task) => task),
        gains,
      )
      .catch(this.abandon);
    this.#subtasks!.settle(() => void this.#finish(outcome));
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
    this.journal.freeze();
    try {
      await this.flush();
      if (end !== undefined && !isRepeatable(await this.#parts.record.journal(), end)) return false;
      await this.#idle();
      if (this.#over || this.journal.finished) return true;
      this.journal.retry(end);
      this.note({ kind: 'retried', attempt, failure: toFailure(error, tool.name), next: at });
      this.log.warn({ err: error, attempt, at }, 'the handler threw; it is tried again');
      this.trace?.retried(error);
      this.persist('wait');
      await this.write((task) => retry(task, at));
      this.#end({ kind: 'parked' });
    } catch (cause) {
      this.abandon(cause);
    }
    return true;
  }

  /** Begins no effect any more, and resolves once what came of those that ran is on record. */
  async #idle(): Promise<void> {
    this.draining = true;
    await this.#resting.idle();
    await new Promise((resolve) => setImmediate(resolve)); // it is recorded by then, or on its way
    await this.flush();
  }

  write(transition: Transition): Promise<Task> {
    const { gains, with: shown } = this.take();
    return this.#parts.record.write(shown(transition), gains);
  }

  /** What is to be kept with the next write. */
  take(): Parcel {
    return this.#outbox.take(this.journal.take());
  }

  async flush(): Promise<void> {
    await this.write((task) => task);
  }

  show(shown: Shown): void {
    this.#outbox.show(shown, this.journal.live);
  }

  note(event: LoggedEvent): void {
    this.#outbox.note(event);
  }

  spawn(subtask: Task): Promise<unknown> {
    return this.#outbox.spawn(subtask);
  }

  persist(cause: 'wait' | 'sleep'): void {
    this.#parts.record.persist(cause, () => this.take());
  }

  resumed(): Promise<void> | undefined {
    return this.#resting.resumed();
  }

  at(time: number, action: () => void): () => void {
    return this.#timers.at(time, action);
  }

  after(ms: number, action: () => void): () => void {
    return this.#timers.after(ms, action);
  }

  busy(work: object): () => void {
    return this.#resting.busy(work);
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

  /** Whether it has something to bring to its end, which a drain should wait for. */
  get working(): boolean {
    const { ending, busy } = this.journal;
    return !this.#over && (this.#resting.hasEffects || ending || busy || this.#finishing);
  }

  /** Whether a step has begun that has not ended. */
  get stepping(): boolean {
    return [...this.journal.calls].some(({ entry }) => entry.kind === 'step');
  }

  // What the journal asks of its run

  caughtUp(): void {
    this.replayMs = this.#clock.elapsed() - this.#startedAt;
    if (this.#log !== undefined) this.#log.level = this.#parts.log.level;
    this.#outbox.caughtUp(this.task);
  }

  resume(): Promise<void> | undefined {
    return this.#resting.resume();
  }

  quiet(): void {
    if (!this.#over) this.#resting.quiet();
  }

  // What its rest asks of it

  get mayPark(): boolean {
    return this.#parts.record.persisted && this.#parts.tool.replay;
  }

  isStuck(): boolean {
    const others = [...this.journal.calls].some(({ entry }) => entry.kind !== 'subtask');
    const stuck = this.lingers || others ? undefined : this.#subtasks?.stuck;
    if (stuck !== undefined) void this.#crash(stuck);
    return stuck !== undefined;
  }

  parked(): void {
    this.#end({ kind: 'parked' });
  }

  mismatch(error: JournalMismatch): void {
    if (this.#over) return;
    this.log.level = this.#parts.log.level;
    this.log.error(error.message);
    this.journal.close();
    const gains = { ...NOTHING, events: [{ kind: 'held', reason: error.message } as const] };
    this.#parts.record
      .write((task, now) => hold(task, error.message, now), gains)
      .then(() => this.#end({ kind: 'stopped' }), this.abandon);
  }

  /** Stops dead, as with the process: nobody hears of it, the handler neither. */
  halt(): void {
    this.#over = true;
    this.journal.close();
    this.#resting.stop();
    this.#timers.stop();
    this.#subtasks?.stop();
    this.#outbox.stop();
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

function taskEnded(): DOMException {
  return new DOMException('the task ended', 'AbortError');
}

/** For a signal that any number of steps may listen to at once. */
function createController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
