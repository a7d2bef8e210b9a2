import type { Logger } from 'pino';
import { delay, type Clock } from '../clock.ts';
import { setAlarm } from '../engine/alarm.ts';
import { coalesce } from '../engine/coalesce.ts';
import { installContainment } from '../engine/containment.ts';
import { deadlinePassed } from '../engine/failures.ts';
import type { Registry } from '../engine/registry.ts';
import type { Kin } from '../engine/run.ts';
import { startRollUp } from '../engine/rollup.ts';
import { startSweeper } from '../engine/sweeper.ts';
import type { Watch } from '../engine/watching.ts';
import { ErrandError, shuttingDown } from '../errors.ts';
import type { Attempt, AttemptOutcome, Executor, Load } from '../executor.ts';
import { issuesText } from '../schema.ts';
import type { Limits } from '../limits.ts';
import type { Store } from '../store.ts';
import { cleanUpAfter } from '../task/clean-up.ts';
import type { JournalEntry } from '../task/journal.ts';
import { isTerminal, type Task } from '../task/task.ts';
import { began, finish, hold } from '../task/transitions.ts';
import { logBindings, type Telemetry } from '../telemetry.ts';
import { Agenda, type Due } from './embedded/agenda.ts';
import { argumentsFor } from './embedded/arguments.ts';
import { follow, type Following } from './embedded/following.ts';
import { loadOf } from './embedded/load.ts';
import { kinOf } from './embedded/kin.ts';
import { Place } from './embedded/place.ts';
import { EMPTY, NOTHING, TaskRecord } from './embedded/record.ts';
import { cleaning } from './embedded/cleaning.ts';
import { EmbeddedRun, type RunEnd, type RunParts } from './embedded/run.ts';
import { Slots } from './slots.ts';

/** How long the store may take to cancel the tasks of calls that are taken back at the end, in ms. */
const TAKE_BACK_WITHIN = 500;
/** How long after a failure of the store a run is tried again, in ms. */
const RETRY_AFTER = 1000;

export interface EmbeddedOptions {
  readonly store: Store;
  readonly watch: Watch;
  readonly tools: Registry;
  /** How many runs may be busy at once. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: Limits;
  readonly telemetry?: Telemetry;
}

/**
 * Runs handlers in this process, with their journals in the store. Of several processes on one store
 * the owner runs them; the others are front ends, until it is their turn.
 */
export function embedded(options: EmbeddedOptions): Executor {
  return new EmbeddedExecutor(options);
}

/** What is known of a task that this process runs or is about to run. */
interface Running {
  readonly place: Place;
  run?: EmbeddedRun;
  record?: TaskRecord;
  /** What was heard of the task before there was a record. */
  heard?: Task;
  /** Answers a call that has no task yet with an error, and ends its run. */
  readonly takeBack?: (why: ErrandError) => void;
}

class EmbeddedExecutor implements Executor {
  readonly #store: Store;
  readonly #watch: Watch;
  readonly #tools: Registry;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #limits: Limits;
  readonly #telemetry: Telemetry | undefined;
  readonly #slots: Slots;
  readonly #running = new Map<string, Running>();
  /** Calls whose tasks the owner runs. */
  readonly #followings = new Set<Following>();
  readonly #agenda: Agenda;
  readonly #stops: (() => void)[] = [];
  readonly #kin: Kin;
  #owns = false;
  #closed = false;

  constructor({ store, watch, tools, concurrency, clock, log, limits, telemetry }: EmbeddedOptions) {
    this.#store = store;
    this.#watch = watch;
    this.#tools = tools;
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits;
    this.#telemetry = telemetry;
    this.#kin = kinOf(store, watch, tools);
    this.#agenda = new Agenda(store, clock, log, {
      has: (id) => this.#running.has(id),
      run: (task) => this.#enqueue(task),
    });
    this.#slots = new Slots(concurrency, (tool) => tools.get(tool)?.concurrency ?? Infinity);
  }

  get queued(): number {
    return this.#slots.waiting;
  }

  free(tool: string): number {
    return this.#slots.free(tool);
  }

  has(taskId: string): boolean {
    return this.#running.has(taskId);
  }

  get load(): Load | undefined {
    return this.#owns ? loadOf(this.#running.values(), this.queued) : undefined;
  }

  async start(): Promise<void> {
    this.#stops.push(installContainment());
    let takingOver: Promise<void> | undefined;
    this.#stops.push(this.#store.own(() => void (takingOver = this.#takeOver())));
    await takingOver;
  }

  /** From here on this process runs the handlers, and keeps the clocks of the tasks. */
  async #takeOver(): Promise<void> {
    if (this.#closed) return;
    this.#owns = true;
    this.#stops.push(this.#store.subscribe((task) => this.#onTask(task)));
    this.#stops.push(this.#store.onForeignCommit(coalesce(this.#clock, () => this.#catchUp())));
    this.#stops.push(startSweeper(this.#store, this.#clock, this.#log));
    this.#stops.push(startRollUp(this.#store, this.#clock, this.#log));
    this.#stops.push(await this.#agenda.open());
  }

  attempt(task: Task, options: { readonly sleepPersists: boolean }): Attempt {
    return this.#owns || this.#closed ? this.#attempt(task, options) : this.#follow(task);
  }

  #follow(task: Task): Attempt {
    const following = follow(this.#store, this.#watch, task);
    this.#followings.add(following);
    const forget = (): void => void this.#followings.delete(following);
    following.outcome.then(forget, forget);
    return following;
  }

  #attempt(task: Task, { sleepPersists }: { readonly sleepPersists: boolean }): Attempt {
    let resolve!: (outcome: AttemptOutcome) => void;
    let reject!: (error: unknown) => void;
    const outcome = new Promise<AttemptOutcome>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    const record = new TaskRecord(this.#store, this.#clock, this.#log, task, {
      sleepPersists,
      onPersist: (created) =>
        void created.then(
          (task) => {
            resolve({ kind: 'task', task });
            // It waits for a slot: from here on it queues as a task like any other.
            if (running.run !== undefined || running.place.held || this.#running.get(task.id) !== running) return;
            this.#forget(task.id);
            this.#agenda.hear(task);
          },
          (error: unknown) => {
            reject(error);
            running.run?.stop();
            this.#forget(task.id);
          },
        ),
    });
    const takeBack = (why: ErrandError): void => {
      if (record.persisted) return;
      reject(why);
      running.run?.stop();
      this.#forget(task.id);
    };
    const running: Running = { place: new Place(this.#slots, task), record, takeBack };
    this.#running.set(task.id, running);
    const onEnd = (end: RunEnd): void => {
      if (record.persisted) return this.#onEnd(task, end);
      this.#forget(task.id);
      if (end.kind === 'ended') {
        const answer: AttemptOutcome = { kind: 'ended', outcome: end.outcome };
        if (task.cleanUp === undefined) return resolve(answer);
        const ended = finish(record.task, end.outcome, this.#store.now());
        this.#store
          .create(() => ({ task: cleanUpAfter(ended, this.#store.now()) }))
          .then(() => resolve(answer), reject);
      } else if (end.kind === 'abandoned') reject(end.cause);
    };
    const begin = async (): Promise<void> => {
      await running.place.take();
      if (this.#running.get(task.id) === running) await this.#run(running, record, [], onEnd);
      const { held } = record.task;
      if (held !== undefined) takeBack(new ErrandError('internal', held));
    };
    if (this.#closed) takeBack(shuttingDown());
    else begin().catch(reject);
    // No sweeper knows of what is not written down.
    const disarm = setAlarm(
      this.#clock,
      task.deadlineAt,
      () => this.#store.now(),
      () => takeBack(deadlinePassed(task.deadlineAt)),
    );
    outcome.then(disarm, disarm);
    return {
      outcome,
      watch: (listener) => record.onTask(listener),
      persist: () => record.persist('now', () => running.run?.take() ?? EMPTY),
      abandon: () => takeBack(new ErrandError('internal', 'the call was taken back')),
    };
  }

  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    for (const { run } of this.#running.values()) if (run) run.draining = true;
    const deadline = this.#clock.elapsed() + graceMs;
    // The clock keeps no process alive, and this one has to close.
    // eslint-disable-next-line no-restricted-globals
    const alive = setInterval(() => undefined, 1000);
    while (this.#busyCalls() > 0 && this.#clock.elapsed() < deadline) await delay(this.#clock, 20);
    clearInterval(alive);
    for (const { run, record, place, takeBack } of [...this.#running.values()]) {
      takeBack?.(shuttingDown());
      run?.stop();
      record?.close();
      place.leave();
    }
    this.#running.clear();
    const takenBack = Promise.allSettled([...this.#followings].map((each) => each.takeBack(shuttingDown())));
    await Promise.race([takenBack, delay(this.#clock, TAKE_BACK_WITHIN)]);
    for (const stop of this.#stops.reverse()) stop();
  }

  halt(): void {
    this.#closed = true;
    for (const { run, record } of this.#running.values()) {
      run?.halt();
      record?.close();
    }
    for (const stop of this.#stops.reverse()) stop();
  }

  #busyCalls(): number {
    return this.#followings.size + [...this.#running.values()].filter(({ run }) => run?.working).length;
  }

  #onTask(task: Task): void {
    const running = this.#running.get(task.id);
    if (running?.record !== undefined) return running.record.observe(task);
    if (running !== undefined) running.heard = task;
    if (isTerminal(task)) this.#forget(task.id);
    this.#agenda.hear(task);
  }

  /** Takes up what other processes did: answers and cancels for runs that are here, and tasks that are due. */
  async #catchUp(): Promise<void> {
    for (const [id, { record }] of [...this.#running]) {
      if (record?.persisted === false) continue;
      const task = await this.#store.read(id);
      if (task !== undefined && this.#running.has(id)) this.#onTask(task);
    }
    await this.#agenda.scan();
  }

  #enqueue(task: Due): void {
    const { id } = task;
    if (this.#closed || this.#running.has(id)) return;
    const running: Running = { place: new Place(this.#slots, task) };
    this.#running.set(id, running);
    this.#begin(id, running).catch((error: unknown) => this.#onEnd(task, { kind: 'abandoned', cause: error }));
  }

  async #begin(id: string, running: Running): Promise<void> {
    await running.place.take();
    const task = await this.#store.read(id);
    if (task === undefined || isTerminal(task) || task.paused || !(task.wakeAt! <= this.#store.now())) {
      return this.#forget(id);
    }
    running.record = new TaskRecord(this.#store, this.#clock, this.#log, task);
    if (running.heard !== undefined) running.record.observe(running.heard);
    const entries = await this.#store.journal(id);
    await this.#run(running, running.record, entries, (end) => this.#onEnd(task, end));
  }

  /** Finds the handler that fits a task, and starts it. */
  async #run(
    running: Running,
    record: TaskRecord,
    entries: Awaited<ReturnType<Store['journal']>>,
    onEnd: (end: RunEnd) => void,
  ): Promise<void> {
    const { task } = record;
    const setAside = async (reason: string): Promise<void> => {
      this.#log.error(logBindings(task), reason);
      await record.write((current, now) => hold(current, reason, now), {
        ...NOTHING,
        events: [{ kind: 'held', reason }],
      });
      this.#forget(task.id);
    };
    const tool = this.#tools.get(task.tool);
    if (tool === undefined) return setAside(`no tool "${task.tool}" is registered here`);
    const version = tool.versions.get(task.toolVersion);
    if (version === undefined)
      return setAside(`no version "${task.toolVersion}" of tool "${task.tool}" is registered here`);
    if (task.cleansUp !== undefined)
      return this.#start(running, record, entries, cleaning(tool), task.arguments, onEnd);
    const checked = argumentsFor(version, task);
    const args = checked instanceof Promise ? await checked : checked;
    if ('issues' in args)
      return setAside(`the task's arguments do not fit tool "${task.tool}" any more: ${issuesText(args.issues)}`);
    if (!tool.replay) {
      if (task.runs > 0) return this.#interrupted(record);
      if (!this.#closed) await record.write(began, NOTHING);
    }
    this.#start(running, record, entries, { tool, handler: version.handler }, args.value, onEnd);
  }

  #start(
    running: Running,
    record: TaskRecord,
    entries: readonly JournalEntry[],
    { tool, handler }: Pick<RunParts, 'tool' | 'handler'>,
    args: unknown,
    onEnd: (end: RunEnd) => void,
  ): void {
    const { task } = record;
    // Meanwhile the server may have been closed, the call taken back or put into the queue as a task,
    // or the task may have ended.
    if (this.#closed || this.#running.get(task.id) !== running) return;
    if (isTerminal(record.task)) return this.#forget(task.id);
    const place = running.place;
    const run = new EmbeddedRun({
      record,
      entries,
      tool,
      handler,
      args,
      place,
      kin: this.#kin,
      clock: this.#clock,
      log: this.#log,
      limits: this.#limits,
      trace: this.#telemetry?.run(task, { withinCall: running.takeBack !== undefined, entries: entries.length }),
      onEnd,
    });
    running.run = run;
    run.start();
  }

  async #interrupted(record: TaskRecord): Promise<void> {
    const message = `the server was interrupted while tool "${record.task.tool}" ran, and the tool cannot be run again`;
    const { code } = new ErrandError('interrupted', message);
    await record.write((task, now) => finish(task, { kind: 'error', error: { code, message } }, now), NOTHING);
    this.#forget(record.task.id);
  }

  #onEnd(task: Due, end: RunEnd): void {
    const { id, tool } = task;
    const running = this.#running.get(id);
    this.#forget(id);
    if (this.#closed) return;
    if (end.kind === 'abandoned') {
      const bindings = running?.record === undefined ? { tool, task: id } : logBindings(running.record.task);
      this.#log.error({ ...bindings, err: end.cause }, 'a run could not go on; it will be tried again');
      this.#agenda.at(this.#store.now() + RETRY_AFTER, task);
    }
    if (end.kind === 'parked') {
      this.#agenda.rest(id, running?.run?.replayMs ?? 0);
      this.#onTask(running!.record!.task); // an answer may have come while it was let go of
    }
  }

  #forget(id: string): void {
    this.#running.get(id)?.place.leave();
    this.#running.delete(id);
  }
}
