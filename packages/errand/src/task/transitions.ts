import type { JsonValue } from '../json.ts';
import type { Input, InputRequest, InputResponse } from './input.ts';
import { isTerminal, type Progress, type Task, type TaskOutcome, type TaskStatus } from './task.ts';

/*
 * The one state machine. Each function takes a task and gives the next one, or the very same
 * object where nothing changes: so terminal states absorb, and a repeated command is harmless.
 */

/** What a task begins with. Durations in ms. */
export interface NewTask extends Pick<
  Task,
  | 'id'
  | 'principal'
  | 'tool'
  | 'toolVersion'
  | 'arguments'
  | 'prepared'
  | 'seed'
  | 'capabilities'
  | 'pollIntervalMs'
  | 'scopes'
  | 'idempotency'
  | 'traceparent'
  | 'birth'
  | 'cleanUp'
> {
  readonly deadlineMs: number;
  readonly retentionMs: number;
}

/** A task as it is at its creation: working, and due for a run. */
export function created(task: NewTask, now: number): Task {
  const { deadlineMs, retentionMs, prepared, scopes, idempotency, traceparent, birth, cleanUp } = task;
  // Written out: V8 takes several times as long for a copy of "all the rest".
  return {
    id: task.id,
    version: 1,
    principal: task.principal,
    tool: task.tool,
    toolVersion: task.toolVersion,
    arguments: task.arguments,
    ...(prepared !== undefined && { prepared }),
    seed: task.seed,
    capabilities: task.capabilities,
    ...(scopes && { scopes }),
    ...(idempotency && { idempotency }),
    ...(traceparent !== undefined && { traceparent }),
    ...(birth && { birth }),
    ...(cleanUp !== undefined && { cleanUp }),
    status: 'working',
    inputs: {},
    createdAt: now,
    lastUpdatedAt: now,
    deadlineAt: now + deadlineMs,
    expiresAt: now + deadlineMs + retentionMs,
    pollIntervalMs: task.pollIntervalMs,
    epoch: 0,
    wakeAt: now,
    runs: 0,
    events: 0,
  };
}

/** How a subtask hangs below its parent. */
export interface Link {
  readonly key: string;
  /** The keys of those that it runs after. */
  readonly after: readonly string[];
  /** Whether it waits for any of them. */
  readonly blocked: boolean;
  readonly weight?: number | undefined;
}

/** A subtask as it is at its creation. It must have ended when its parent must, and vanishes with it (S-14). */
export function createdBelow(parent: Task, task: NewTask, { key, after, blocked, weight }: Link, now: number): Task {
  const { wakeAt, ...own } = created(task, now);
  return {
    ...own,
    parent: {
      id: parent.id,
      root: parent.parent?.root ?? parent.id,
      key,
      path: parent.parent === undefined ? key : `${parent.parent.path}/${key}`,
      ...(after.length > 0 && { after }),
      ...(weight !== undefined && { weight }),
    },
    deadlineAt: Math.min(own.deadlineAt, parent.deadlineAt),
    expiresAt: parent.expiresAt,
    ...(blocked ? { blocked } : { wakeAt: wakeAt! }),
  };
}

/** Lets a subtask run whose predecessors have ended. */
export function unblock(task: Task, now: number): Task {
  if (isTerminal(task) || task.blocked === undefined) return task;
  const { blocked: _, ...rest } = task;
  return { ...rest, wakeAt: now };
}

/** Counts the subtasks that a handler made. Clients see that there are more (S-2). */
export function grow(task: Task, made: number, now: number): Task {
  return made === 0 || isTerminal(task) ? task : touched({ ...task, subtasks: (task.subtasks ?? 0) + made }, now);
}

/** Has a whole run tried again at a time, after one that failed. */
export function retry(task: Task, at: number): Task {
  if (isTerminal(task)) return task;
  return { ...task, retries: (task.retries ?? 0) + 1, epoch: task.epoch + 1, wakeAt: at };
}

/** Puts a question. Its key must be new: a key is used once in a task's life (E-7). */
export function ask(task: Task, key: string, request: InputRequest, now: number): Task {
  if (isTerminal(task)) return task;
  if (Object.hasOwn(task.inputs, key)) throw new TypeError(`the input key "${key}" was used before in this task`);
  return withInputs(task, { ...task.inputs, [key]: { request, state: 'open' } }, now);
}

/**
 * Takes answers. The first answer to an open key wins; answers to unknown, answered and
 * withdrawn keys are ignored (E-8). The task is due at once, so that a run takes the answer up.
 */
export function answer(task: Task, responses: Readonly<Record<string, InputResponse>>, now: number): Task {
  if (isTerminal(task)) return task;
  const fresh = Object.entries(responses).filter(([key]) => isOpen(task, key));
  if (fresh.length === 0) return task;
  const answered = fresh.map(([key, response]): [string, Input] => [
    key,
    { request: task.inputs[key]!.request, state: 'answered', response },
  ]);
  const next = withInputs(task, { ...task.inputs, ...Object.fromEntries(answered) }, now);
  return due(next, now);
}

/** Takes a question back, unless it was answered. */
export function withdraw(task: Task, key: string, now: number): Task {
  if (isTerminal(task) || !isOpen(task, key)) return task;
  return withInputs(task, { ...task.inputs, [key]: { request: task.inputs[key]!.request, state: 'withdrawn' } }, now);
}

/** Takes a question back because its client cannot answer it. The task is due at once, so that a run hears of it. */
export function decline(task: Task, key: string, now: number): Task {
  const next = withdraw(task, key, now);
  return next === task ? task : due(next, now);
}

/** Shows a text to whoever looks at the task. That it is paused outweighs it; the run that comes then says it again. */
export function describe(task: Task, statusMessage: string, now: number): Task {
  return isTerminal(task) || task.paused ? task : shown(task, statusMessage, now);
}

/** Moves progress on; neither number ever falls (P-2). */
export function progress(task: Task, next: Progress, now: number): Task {
  if (isTerminal(task)) return task;
  const before = task.progress;
  const done = Math.max(next.done, before?.done ?? -Infinity);
  const known = Math.max(next.total ?? -Infinity, before?.total ?? -Infinity);
  const total = known === -Infinity ? known : Math.max(known, done); // P-4
  if (before !== undefined && before.done === done && (before.total ?? -Infinity) === total) return task;
  return touched({ ...task, progress: total === -Infinity ? { done } : { done, total } }, now);
}

/** Shows how far the subtasks are, where the handler shows nothing by itself. */
export function rollUp(task: Task, below: Progress, now: number): Task {
  if (task.progress !== undefined && task.progress.rolledUp === undefined) return task;
  const next = progress(task, below, now);
  return next === task ? task : { ...next, progress: { ...next.progress!, rolledUp: true } };
}

/** Ends a task with the outcome of its work. Open questions are withdrawn. */
export function finish(task: Task, outcome: TaskOutcome, now: number): Task {
  if (isTerminal(task)) return task;
  const next = ended(task, outcome.kind === 'error' ? 'failed' : 'completed', now);
  next.outcome = outcome;
  if (outcome.kind === 'error') next.statusMessage = outcome.error.message;
  return next;
}

/** Ends a task because nobody wants it any more. */
export function cancel(task: Task, now: number): Task {
  if (isTerminal(task)) return task;
  return ended(task, 'cancelled', now);
}

/** Sets a task aside because no code here fits it; it still reads as working. */
export function hold(task: Task, reason: string, now: number): Task {
  if (isTerminal(task) || task.held === reason) return task;
  const { wakeAt: _, ...rest } = shown(task, reason, now);
  return { ...rest, held: reason };
}

/** Makes a held task due again; why it was held is no longer shown. */
export function release(task: Task, now: number): Task {
  if (isTerminal(task) || task.held === undefined) return task;
  const { held, ...rest } = task;
  if (task.paused) {
    const next = { ...rest, wakeAt: now };
    return task.statusMessage === held ? shown(next, PAUSED, now) : next;
  }
  const { statusMessage: _, ...silent } = rest;
  return touched({ ...silent, wakeAt: now }, now);
}

/** What is shown of a paused task where no reason was given. */
const PAUSED = 'paused';

/** Lets nothing of a task run until it is resumed. It can be answered, and its deadline goes on. */
export function pause(task: Task, reason: string | undefined, now: number): Task {
  if (isTerminal(task) || task.paused) return task;
  const statusMessage = reason === undefined ? PAUSED : `${PAUSED}: ${reason}`;
  return touched({ ...task, paused: true, statusMessage }, now);
}

/** A subtask that is made while its task is paused is paused with it, for the same reason. */
export function pausedWith(parent: Task, subtask: Task): Task {
  return parent.paused ? { ...subtask, paused: true, statusMessage: parent.statusMessage ?? PAUSED } : subtask;
}

/** Lets a paused task go on, from where it is. */
export function resume(task: Task, now: number): Task {
  if (isTerminal(task) || !task.paused) return task;
  const { paused: _paused, statusMessage: _message, ...rest } = task;
  return due(touched(task.held === undefined ? rest : { ...rest, statusMessage: task.held }, now), now);
}

/** Tells the work of a task something on the way. No client sees this. */
export function steer(task: Task, message: JsonValue, now: number): Task {
  return isTerminal(task) ? task : due({ ...task, steering: [...(task.steering ?? []), message] }, now);
}

/**
 * Lets go of a waiting run, which may not write any more: only `wakeAt`, or an answer, moves the task on, in a run
 * of its own. No client sees this.
 */
export function park(task: Task, wakeAt: number | undefined): Task {
  if (isTerminal(task)) return task;
  const { wakeAt: _, ...rest } = task;
  return { ...rest, epoch: task.epoch + 1, ...(wakeAt === undefined ? {} : { wakeAt }) };
}

/** Counts a run that begins, for tools whose runs are not replayed. */
export function began(task: Task): Task {
  return isTerminal(task) ? task : { ...task, runs: task.runs + 1 };
}

/** Whether a question waits for its answer. */
export function isOpen(task: Task, key: string): boolean {
  return Object.hasOwn(task.inputs, key) && task.inputs[key]!.state === 'open';
}

/** All questions that wait for an answer. */
export function openInputs(task: Task): Record<string, InputRequest> {
  return Object.fromEntries(
    Object.entries(task.inputs).flatMap(([key, input]) => (input.state === 'open' ? [[key, input.request]] : [])),
  );
}

function withInputs(task: Task, inputs: Readonly<Record<string, Input>>, now: number): Task {
  const open = Object.values(inputs).some((input) => input.state === 'open');
  return touched({ ...task, inputs, status: open ? 'input_required' : 'working' }, now);
}

function ended(task: Task, status: TaskStatus, now: number): Draft {
  const next = without(task, ['wakeAt', 'held', 'paused', 'blocked', 'statusMessage']);
  next.status = status;
  const statusMessage = keptMessage(task);
  if (statusMessage !== undefined) next.statusMessage = statusMessage;
  if (task.status === 'input_required') next.inputs = allWithdrawn(task.inputs);
  // What is below a task has ended with it.
  if (task.progress?.rolledUp) next.progress = { ...task.progress, done: task.progress.total! };
  next.epoch++;
  next.lastUpdatedAt = Math.max(task.lastUpdatedAt, now);
  return next;
}

/** A task that nobody else has yet. */
type Draft = { -readonly [Name in keyof Task]: Task[Name] };
type Optional = { [Name in keyof Task]-?: undefined extends Task[Name] ? Name : never }[keyof Task];

/** A copy without some fields. A loop, because a copy of "all the rest" takes V8 several times as long. */
function without(task: Task, names: readonly Optional[]): Draft {
  const copy: Record<string, unknown> = {};
  for (const name in task) if (!names.includes(name as Optional)) copy[name] = task[name as keyof Task];
  return copy as unknown as Draft;
}

function allWithdrawn(inputs: Task['inputs']): Task['inputs'] {
  return Object.fromEntries(
    Object.entries(inputs).map(([key, input]): [string, Input] => [
      key,
      input.state === 'open' ? { request: input.request, state: 'withdrawn' } : input,
    ]),
  );
}

/** What was shown last; not why the task was held or paused, which is over now. */
function keptMessage({ statusMessage, held, paused }: Task): string | undefined {
  return held !== undefined || paused ? undefined : statusMessage;
}

function shown(task: Task, statusMessage: string, now: number): Task {
  return task.statusMessage === statusMessage ? task : touched({ ...task, statusMessage }, now);
}

/** A held task is not due, since no run would fit it, and a blocked one must not run yet. */
function due(task: Task, now: number): Task {
  return task.held === undefined && !task.blocked ? { ...task, wakeAt: now } : task;
}

function touched(task: Task, now: number): Task {
  return { ...task, lastUpdatedAt: Math.max(task.lastUpdatedAt, now) };
}
