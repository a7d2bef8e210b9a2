import type { Command, ControlRequest, ControlResults, Served } from '../../dialect.ts';
import { missingCapability } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import type { TaskEvent } from '../../task/event.ts';
import type { Task, TaskStatus } from '../../task/task.ts';
import { invalid, isTexts, taskIdOf } from '../params.ts';
import { detailedTask, plainTask, progressOf, serverStamp, signedBy, statusOf } from './encode.ts';
import { ERRAND, knowsErrand, type Envelope } from './envelope.ts';

/*
 * Our own extension `dev.errand/tasks`: methods under `errand/`, for whoever declares it in a request.
 */

/** So many events or tasks come at once, unless fewer are asked for. */
const MOST = 100;

const STATUSES: readonly TaskStatus[] = ['working', 'input_required', 'completed', 'failed', 'cancelled'];

type Decode = (params: JsonObject) => ControlRequest;

const METHODS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  [
    'errand/pause',
    (params) => {
      const { reason } = params;
      if (reason !== undefined && typeof reason !== 'string') throw invalid('reason must be a string');
      return { act: 'pause', taskId: taskIdOf(params), ...(reason !== undefined && { reason }) };
    },
  ],
  ['errand/resume', (params) => ({ act: 'resume', taskId: taskIdOf(params) })],
  [
    'errand/steer',
    (params) => {
      const { message } = params;
      if (message === undefined) throw invalid('message is missing');
      return { act: 'steer', taskId: taskIdOf(params), message };
    },
  ],
  ['errand/graph', (params) => ({ act: 'graph', taskId: taskIdOf(params) })],
  [
    'errand/events',
    (params) => {
      const { after = -1 } = params;
      if (!Number.isSafeInteger(after)) throw invalid('after must be the number of an event');
      return { act: 'events', taskId: taskIdOf(params), after: after as number, limit: limitOf(params) };
    },
  ],
  [
    'errand/list',
    (params) => {
      const { cursor, statuses } = params;
      if (cursor !== undefined && typeof cursor !== 'string') throw invalid('cursor must be a string');
      if (statuses !== undefined && !isStatuses(statuses)) {
        throw invalid(`statuses must be an array of ${STATUSES.join(', ')}`);
      }
      const after = cursor !== undefined && { after: cursor };
      return {
        act: 'list',
        options: { limit: limitOf(params), ...after, ...(statuses !== undefined && { statuses }) },
      };
    },
  ],
]);

/** Whether a method is one of the extension. */
export function isControl(method: string): boolean {
  return METHODS.has(method);
}

/** A request of the extension. That its sender declared it comes first, as with tasks (E-11). */
export function decodeControl(method: string, params: JsonObject, envelope: Envelope): Command {
  if (!knowsErrand(envelope)) {
    throw missingCapability({ extensions: { [ERRAND]: {} } }, `${method} needs the extension ${ERRAND}`);
  }
  return { kind: 'control', request: METHODS.get(method)!(params) };
}

export function createControlResults({ info }: Served): ControlResults {
  const stamp = serverStamp(info);
  const complete = (result: JsonObject): JsonObject => signedBy(stamp, { resultType: 'complete', ...result });
  return {
    task: (task) => complete(detailedTask(task, true)),
    graph: ({ tasks, truncated }) => complete({ nodes: tasks.map(nodeOf), truncated }),
    events: ({ events, next, ended }) => complete({ events: events.map(eventOf), next, ended }),
    list: ({ tasks, next }) =>
      complete({ tasks: tasks.map((task) => plainTask(task, true)), ...(next !== undefined && { nextCursor: next }) }),
  };
}

function limitOf({ limit = MOST }: JsonObject): number {
  if (!Number.isInteger(limit) || (limit as number) < 1) throw invalid('limit must be a whole number of 1 or more');
  return Math.min(limit as number, MOST);
}

function isStatuses(value: unknown): value is TaskStatus[] {
  return isTexts(value) && value.every((text) => STATUSES.includes(text as TaskStatus));
}

/** A task of a graph, with where it hangs in it. */
function nodeOf(task: Task): JsonObject {
  const { id, tool, parent, paused, blocked, subtasks } = task;
  return {
    taskId: id,
    tool,
    status: statusOf(task),
    ...progressOf(task),
    ...(parent !== undefined && { parentTaskId: parent.id, key: parent.key, path: parent.path }),
    ...(parent?.after !== undefined && { after: [...parent.after] }),
    ...(paused && { paused }),
    ...(blocked && { blocked }),
    ...(subtasks !== undefined && { subtasks }),
  };
}

/** A line of a log; its times are ISO 8601, as everywhere on this wire. */
function eventOf(event: TaskEvent): JsonObject {
  const { at, ...rest } = event;
  const times: JsonObject = { at: new Date(at).toISOString() };
  if (event.kind === 'slept') times.until = new Date(event.until).toISOString();
  if (event.kind === 'retried') times.next = new Date(event.next).toISOString();
  return { ...(rest as unknown as JsonObject), ...times };
}
