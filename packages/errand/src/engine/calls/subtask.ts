import { jsonCopy, type JsonObject, type JsonValue } from '../../json.ts';
import { checkSize } from '../../limits.ts';
import { choose, knownOptions } from '../../options.ts';
import { check, issuesText } from '../../schema.ts';
import { Graph } from '../../task/graph.ts';
import type { CallOutcome } from '../../task/journal.ts';
import { isTerminal, type Task, type ToolResult } from '../../task/task.ts';
import { createdBelow } from '../../task/transitions.ts';
import { inBites } from '../bites.ts';
import type { Subtask, SubtaskOptions } from '../context.ts';
import type { Call } from '../journal.ts';
import type { RegisteredTool } from '../registry.ts';
import type { Run } from '../run.ts';

/** So many subtasks are made, or found again, in one turn of the event loop. */
const AT_ONCE = 100;

/** A subtask as its parent's handler asked for it. */
interface Wanted {
  readonly key: string;
  readonly tool: string;
  readonly args: JsonObject;
  readonly after: readonly string[];
  readonly failureIsFatal: boolean;
  readonly cancelOnExit: boolean;
  readonly scopes: readonly string[] | undefined;
  readonly weight: number | undefined;
}

/** One that has not ended, as far as the run knows. */
interface Open {
  readonly wanted: Wanted;
  readonly call: Call;
  readonly id: string;
  /** Whether the run looks after it. A replay does so once it has caught up, or the handler has returned. */
  started: boolean;
  /** Whether its task is there: before, it can be neither let run nor cancelled. */
  made: boolean;
  cancelled: boolean;
  unwatch?: () => void;
}

/** The subtasks that a run's handler has begun, and what runs after what. */
export class Subtasks {
  readonly #run: Run;
  readonly #graph = new Graph();
  readonly #open = new Map<string, Open>();
  #onEmpty: (() => void) | undefined;
  readonly #inBites: (piece: () => void) => void;
  #stopped = false;

  constructor(run: Run) {
    this.#run = run;
    this.#inBites = inBites(AT_ONCE, (work) => run.busy(work));
  }

  /** Begins a subtask. Throws where what is asked for makes no sense; whether its arguments fit, its end tells. */
  begin(key: string, tool: string, args: object, options: SubtaskOptions): Subtask {
    const wanted = toWanted(this.#run, key, tool, args, options);
    this.#graph.add(key, wanted.after);
    const { journal, kin } = this.#run;
    const start = (begun: Call): void => this.#start(this.#opened(wanted, begun));
    const call = journal.begin('subtask', key, start, () => kin.newId());
    // What a branch begins after the handler has ended never is.
    if (!journal.finished) this.#opened(wanted, call);
    // An end that was recorded comes by the journal alone.
    call.promise.then(
      () => this.#ended(key, true),
      () => this.#ended(key, false),
    );
    const id = call.entry.value as string;
    const result = call.promise as unknown as Promise<ToolResult>;
    return Object.assign(result, { key, id, cancel: () => this.#cancel(key) });
  }

  /** How many have not ended. */
  get live(): number {
    return this.#open.size;
  }

  /** Why the handler must not have returned yet, if it must not: a subtask runs after one that was never begun. */
  get dangling(): TypeError | undefined {
    const { missing } = this.#graph;
    return missing && new TypeError(`subtask "${missing.key}" runs after "${missing.after}", which was never begun`);
  }

  /** Why none of them can ever go on, if so: they all wait for such as were never begun. */
  get stuck(): TypeError | undefined {
    if (this.#open.size === 0 || this.#graph.missing === undefined) return undefined;
    for (const { made, wanted } of this.#open.values()) {
      if (!made || this.#graph.readinessOf(wanted.key) !== 'blocked') return undefined;
    }
    return this.dangling;
  }

  /** Calls `action` once all have ended; those that are not to be waited for are cancelled. */
  settle(action: () => void): void {
    this.#onEmpty = action;
    for (const open of [...this.#open.values()]) {
      if (open.wanted.cancelOnExit) this.#cancel(open.wanted.key);
      this.#start(open);
    }
    this.#checkEmpty();
  }

  /** The run is over, or was let go of: what becomes of the subtasks is up to the next one. */
  stop(): void {
    this.#stopped = true;
    for (const { unwatch } of this.#open.values()) unwatch?.();
    this.#open.clear();
  }

  /** What is known of a subtask that has begun. */
  #opened(wanted: Wanted, call: Call): Open {
    const known = this.#open.get(wanted.key);
    if (known !== undefined) return known;
    const id = call.entry.value as string;
    const open: Open = { wanted, call, id, started: false, made: false, cancelled: false };
    this.#open.set(wanted.key, open);
    return open;
  }

  #start(open: Open): void {
    if (open.started) return;
    open.started = true;
    this.#inBites(() => void this.#lookAfter(open));
  }

  async #lookAfter(open: Open): Promise<void> {
    if (this.#stopped) return;
    try {
      const known = open.call.replayed ? await this.#run.kin.read(open.id) : undefined;
      if (known === undefined) {
        const refused = await this.#make(open);
        if (refused !== undefined) return this.#end(open, refused, undefined);
      }
      if (this.#stopped) return;
      open.made = true;
      this.#follow(open, known);
      this.#look(open);
    } catch (error) {
      this.#run.abandon(error);
    }
  }

  /** Makes the task. Gives the outcome of one that cannot be. */
  async #make({ wanted, id }: Open): Promise<CallOutcome | undefined> {
    const { kin, task } = this.#run;
    const tool = kin.tool(wanted.tool);
    const why = tool === undefined ? `there is no tool "${wanted.tool}"` : await misfit(tool, wanted.args);
    if (why !== undefined) return failed(wanted, why, {});
    if (this.#stopped) return undefined;
    const { name, version, deadlineMs, retentionMs, pollIntervalMs } = tool!;
    const subtask = createdBelow(
      task,
      {
        id,
        principal: task.principal,
        tool: name,
        toolVersion: version,
        arguments: wanted.args,
        // The same in every run, so that the keys of its steps are, too.
        seed: `${task.seed}/${wanted.key}`,
        capabilities: task.capabilities,
        deadlineMs,
        retentionMs,
        pollIntervalMs,
        ...(wanted.scopes && { scopes: wanted.scopes }),
        ...(tool!.onEnd && { cleanUp: kin.newId() }),
        ...(task.traceparent !== undefined && { traceparent: task.traceparent }),
      },
      {
        key: wanted.key,
        after: wanted.after,
        blocked: this.#graph.readinessOf(wanted.key) === 'blocked',
        weight: wanted.weight,
      },
      this.#run.now(),
    );
    this.#run.persist('wait');
    await this.#run.spawn(subtask);
    return undefined;
  }

  #follow(open: Open, known: Task | undefined): void {
    const hear = (task: Task): void => {
      if (!isTerminal(task)) return;
      open.unwatch!();
      this.#end(open, outcomeOf(open.wanted, task, this.#whyNotRun(open)), task);
    };
    open.unwatch = this.#run.kin.watch(open.id, hear);
    if (known !== undefined) hear(known);
  }

  /** What to say of a subtask that was cancelled because one failed that it was to run after. */
  #whyNotRun({ wanted }: Open): string | undefined {
    const culprit = this.#graph.culpritOf(wanted.key);
    return culprit === undefined ? undefined : `it was not run, because "${culprit}" failed`;
  }

  #end(open: Open, outcome: CallOutcome, task: Task | undefined): void {
    const { key } = open.wanted;
    if (this.#open.get(key) !== open) return;
    if (task !== undefined) {
      this.#run.note({ kind: 'subtask_ended', key, taskId: task.id, status: task.status });
    }
    this.#run.journal.end(open.call, outcome).catch(this.#run.abandon);
    this.#ended(key, 'value' in outcome);
    this.#checkEmpty();
  }

  /** Lets run what was waiting, or has it cancelled. */
  #ended(key: string, well: boolean): void {
    this.#open.delete(key);
    for (const dependant of this.#graph.end(key, well)) {
      const waiting = this.#open.get(dependant);
      if (waiting?.made) this.#look(waiting);
    }
  }

  /** Lets a subtask run, or cancels it, as its predecessors and the handler have it. */
  #look({ wanted, id, cancelled }: Open): void {
    const readiness = cancelled ? 'doomed' : this.#graph.readinessOf(wanted.key);
    if (readiness === 'blocked' || (readiness === 'ready' && wanted.after.length === 0)) return;
    const act = readiness === 'ready' ? this.#run.kin.unblock(id) : this.#run.kin.cancel(id);
    act.catch(this.#run.abandon);
  }

  #cancel(key: string): void {
    const open = this.#open.get(key);
    if (open === undefined || open.cancelled) return;
    open.cancelled = true;
    if (open.made) this.#look(open);
  }

  #checkEmpty(): void {
    if (this.#open.size === 0) this.#onEmpty?.();
  }
}

function toWanted(run: Run, key: string, tool: string, args: object, options: SubtaskOptions): Wanted {
  if (typeof key !== 'string' || key === '') throw new TypeError('subtask: the first argument is its key, a text');
  const what = `subtask "${key}"`;
  if (key.includes('/')) throw new TypeError(`${what}: a key has no "/", which stands between the keys of a path`);
  if (typeof tool !== 'string') throw new TypeError(`${what}: the second argument is the name of a tool`);
  knownOptions(what, options, ['after', 'onFailure', 'onParentExit', 'scope', 'weight']);
  const { after = [], onFailure = 'fail', onParentExit = 'wait', scope, weight } = options;
  if (weight !== undefined && !(weight >= 0 && Number.isFinite(weight)))
    throw new TypeError(`${what}: weight is a number of 0 or more`);
  choose(what, 'onFailure', onFailure, ['fail', 'return']);
  choose(what, 'onParentExit', onParentExit, ['wait', 'cancel']);
  const beyond = run.task.scopes && scope?.find((name) => !run.task.scopes!.includes(name));
  if (beyond !== undefined)
    throw new TypeError(`${what}: scope "${beyond}" is not among the scopes of the task, and a subtask has no more`);
  const copy = jsonCopy(args, `${what}: the arguments`) as JsonObject;
  checkSize(copy, run.limits.argumentBytes, `the arguments of ${what}`);
  return {
    key,
    tool,
    args: copy,
    after: typeof after === 'string' ? [after] : after,
    failureIsFatal: onFailure === 'fail',
    cancelOnExit: onParentExit === 'cancel',
    scopes: scope ?? run.task.scopes,
    weight,
  };
}

/** Why a tool cannot be called so, if it cannot. */
async function misfit(tool: RegisteredTool, args: JsonObject): Promise<string | undefined> {
  if (tool.prepare !== undefined) return `tool "${tool.name}" has prepare, which asks a client before there is a task`;
  if (tool.inputSchema === undefined) return undefined;
  const checked = await check(tool.inputSchema, structuredClone(args));
  return 'issues' in checked
    ? `the arguments do not fit tool "${tool.name}": ${issuesText(checked.issues)}`
    : undefined;
}

function outcomeOf(wanted: Wanted, { id, status, outcome }: Task, notRun: string | undefined): CallOutcome {
  const result = outcome?.kind === 'result' ? outcome.result : undefined;
  if (result !== undefined && (result.isError !== true || !wanted.failureIsFatal)) {
    return { value: structuredClone(result) as unknown as JsonValue };
  }
  const error = outcome?.kind === 'error' ? outcome.error : undefined;
  const why = error?.message ?? (result === undefined ? (notRun ?? 'it was cancelled') : textOf(result));
  return failed(wanted, why, { taskId: id, status, ...(error && { error }), ...(result && { result }) });
}

/** A failure, as the handler wants it. */
function failed({ key, failureIsFatal }: Wanted, why: string, details: object): CallOutcome {
  if (!failureIsFatal) return { value: { content: [{ type: 'text', text: why }], isError: true } };
  const data = structuredClone(details) as JsonValue;
  return { failure: { name: 'SubtaskError', message: `subtask "${key}" failed: ${why}`, data } };
}

function textOf({ content }: ToolResult): string {
  const texts = content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []));
  return texts.length === 0 ? 'its result is an error' : texts.join('\n');
}
