import type { JsonObject, JsonValue } from '../../json.ts';
import type { Input, InputCapabilities } from '../../task/input.ts';
import type { Task, TaskOutcome, TaskStatus } from '../../task/task.ts';
import type { Thinned } from '../log.ts';
import type { Place } from './ids.ts';
import { parsed } from './trouble.ts';

/** A task as it stands in the file, and what is known of its row beside it. */
export interface StoredTask {
  readonly task: Task;
  readonly place: Place;
  /** How long its journal is. */
  readonly entries: number;
  readonly thinned: Thinned | undefined;
  /** How many characters its texts take, roughly. */
  readonly length: number;
}

/** What is seldom set, and shares a column. */
type More = Partial<Pick<Task, 'progress' | 'runs' | 'steering' | 'retries' | 'subtasks' | 'blocked'>> & {
  readonly thinned?: Thinned;
};

/** What is fixed at creation and seldom set, and shares a column. */
type Origin = Partial<
  Pick<Task, 'parent' | 'scopes' | 'idempotency' | 'traceparent' | 'birth' | 'cleanUp' | 'cleansUp'>
>;

/** What a change may write that no index is about. */
export const STATE = [
  'entries',
  'events',
  'version',
  'status_message',
  'inputs',
  'outcome',
  'last_updated_at',
  'poll_interval_ms',
  'epoch',
  'more',
];

/** What a change may write that indexes are about: to write it again costs as much as to change it. */
export const SEARCHED = ['status', 'wake_at', 'paused', 'held'];

export const COLUMNS = `
  nonce, principal, created_at, deadline_at, expires_at, ${SEARCHED.join(', ')}, ${STATE.join(', ')},
  tool, tool_version, seed, arguments, prepared, capabilities, origin`;

/** What `COLUMNS` of a row hold. */
export type TaskRow = [
  nonce: Buffer,
  principal: string,
  createdAt: number,
  deadlineAt: number,
  expiresAt: number,
  status: TaskStatus,
  wakeAt: number | null,
  paused: number | null,
  held: string | null,
  entries: number,
  events: number,
  version: number,
  statusMessage: string | null,
  inputs: string | null,
  outcome: string | null,
  lastUpdatedAt: number,
  pollIntervalMs: number,
  epoch: number,
  more: string | null,
  tool: string,
  toolVersion: string,
  seed: string,
  args: string,
  prepared: string | null,
  capabilities: string | null,
  origin: string | null,
];

/** The values of `STATE`. */
export function stateOf(task: Task, entries: number, thinned: Thinned | undefined): unknown[] {
  return [
    entries,
    task.events,
    task.version,
    task.statusMessage ?? null,
    members(task.inputs),
    json(task.outcome),
    task.lastUpdatedAt,
    task.pollIntervalMs,
    task.epoch,
    moreOf(task, thinned),
  ];
}

/** Adds the values of `SEARCHED`. */
export function pushSearched(values: unknown[], { status, wakeAt, paused, held }: Task): void {
  values.push(status, wakeAt ?? null, paused === undefined ? null : 1, held ?? null);
}

/** Whether two states of a task have the same values of `SEARCHED`. */
export function isFoundAlike(one: Task, other: Task): boolean {
  return (
    one.status === other.status && one.wakeAt === other.wakeAt && one.paused === other.paused && one.held === other.held
  );
}

/** The values of the first columns of `call`. */
export function callOf(task: Task): unknown[] {
  const { tool, toolVersion, seed, prepared, capabilities, idempotency } = task;
  return [
    tool,
    toolVersion,
    seed,
    JSON.stringify(task.arguments),
    json(prepared),
    members(capabilities),
    originOf(task),
    idempotency === undefined ? null : onceOf(task.principal, tool, idempotency.key),
  ];
}

/** What stands for the principal, the tool and the key of a task that a client makes once. */
export function onceOf(principal: string, tool: string, key: string): string {
  return JSON.stringify([principal, tool, key]);
}

export function lengthOf(values: readonly unknown[]): number {
  let length = 0;
  for (const value of values) if (typeof value === 'string') length += value.length;
  return length;
}

// prettier-ignore
export function storedTask(id: string, place: Place, row: TaskRow): StoredTask {
  const [
    , principal, createdAt, deadlineAt, expiresAt, status, wakeAt, paused, held, entries, events, version,
    statusMessage, inputs, outcome, lastUpdatedAt, pollIntervalMs, epoch, moreText, tool, toolVersion, seed, args,
    prepared, capabilities, origin,
  ] = row;
  const { thinned, runs = 0, ...more } = moreText === null ? {} as More : parsed(moreText) as More;
  const task: Task = {
    id, version, principal, tool, toolVersion,
    arguments: parsed(args) as JsonObject,
    ...(prepared === null ? undefined : { prepared: parsed(prepared) as JsonValue }),
    seed,
    capabilities: capabilities === null ? {} : parsed(capabilities) as InputCapabilities,
    ...(origin === null ? undefined : parsed(origin) as Origin),
    status,
    ...(statusMessage === null ? undefined : { statusMessage }),
    inputs: inputs === null ? {} : parsed(inputs) as Record<string, Input>,
    ...(outcome === null ? undefined : { outcome: parsed(outcome) as TaskOutcome }),
    createdAt, lastUpdatedAt, deadlineAt, expiresAt, pollIntervalMs, epoch,
    ...(wakeAt === null ? undefined : { wakeAt }),
    runs,
    ...(held === null ? undefined : { held }),
    ...(paused === null ? undefined : { paused: true }),
    ...more,
    events,
  };
  return { task, place, entries, thinned, length: lengthOf(row) };
}

function moreOf(task: Task, thinned: Thinned | undefined): string | null {
  const { progress, runs, steering, retries, subtasks, blocked } = task;
  if (
    runs === 0 &&
    progress === undefined &&
    steering === undefined &&
    retries === undefined &&
    subtasks === undefined &&
    blocked === undefined &&
    thinned === undefined
  )
    return null;
  const more: { [Name in keyof More]-?: More[Name] | undefined } = {
    progress,
    runs: runs === 0 ? undefined : runs,
    steering,
    retries,
    subtasks,
    blocked,
    thinned,
  };
  return JSON.stringify(more);
}

function originOf({ parent, scopes, idempotency, traceparent, birth, cleanUp, cleansUp }: Task): string | null {
  if (
    parent === undefined &&
    scopes === undefined &&
    idempotency === undefined &&
    traceparent === undefined &&
    birth === undefined &&
    cleanUp === undefined &&
    cleansUp === undefined
  )
    return null;
  const origin: { [Name in keyof Origin]-?: Origin[Name] | undefined } = {
    parent,
    scopes,
    idempotency,
    traceparent,
    birth,
    cleanUp,
    cleansUp,
  };
  return JSON.stringify(origin);
}

function json(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

/** An object without members is kept as nothing, which costs nothing to read. */
function members(value: object): string | null {
  for (const _ in value) return JSON.stringify(value);
  return null;
}
