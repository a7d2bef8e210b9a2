import type { SessionDialect, SessionServed, Terms } from '../../dialect.ts';
import { isAsking } from '../../engine/below.ts';
import type { SeenTask } from '../../engine/engine.ts';
import { ErrandError, RpcError } from '../../errors.ts';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import { isTerminal } from '../../task/task.ts';
import type { Task, TaskStatus, ToolResult } from '../../task/task.ts';
import { theirTools } from '../tool-lists.ts';
import { RELATED_TASK } from './envelope.ts';

/** The part of a session's dialect that makes results. */
export type Encode = Pick<
  SessionDialect,
  'initialized' | 'listed' | 'called' | 'read' | 'cancelled' | 'result' | 'tasks' | 'passed'
>;

/** What the engine answers, as results of this revision. */
export function createEncode(served: SessionServed, { version }: Terms): Encode {
  const { engine, lists } = served;
  return {
    // What may be run as a task is all there is in `requests` (L-2, L-3); the extension of a later revision is not (N-6).
    initialized: (backend) =>
      initialized(served, version, backend, {
        tasks: { ...(lists && { list: {} }), cancel: {}, requests: { tools: { call: {} } } },
      }),
    listed: (tools, backend = {}) => ({
      tools: [
        ...tools.map((tool) => ({
          ...(tool as unknown as JsonObject),
          execution: { taskSupport: engine.taskUse(tool.name) ?? 'forbidden' },
        })),
        ...theirTools(served, backend),
      ],
      ...nextCursorOf(backend),
    }),
    called(answer, call) {
      if (answer.kind === 'input') throw new Error('a client of this revision is asked by requests');
      // It begins as working, whatever it has come to since (L-17).
      if (answer.kind === 'task')
        return { ...relatedTo(answer.task), task: { ...plainTask(answer.task), status: 'working' } };
      // Whoever asked for a task can take nothing else (L-13).
      if (call.wantsTask) throw new ErrandError('invalidParams', `Invalid params: ${textOf(answer.result)}`);
      return toolResult(answer.result);
    },
    read: plainTask,
    cancelled: plainTask,
    result: resultOf,
    tasks: (tasks, nextCursor) => ({
      tasks: tasks.map((task) => plainTask(task)),
      ...(nextCursor !== undefined && { nextCursor }),
    }),
    passed: withoutStamps,
  };
}

/** The result of `initialize`: what the backend can do, and `tasks` beside it. */
export function initialized(
  { info }: SessionServed,
  protocolVersion: string,
  backend: JsonObject = {},
  ours: JsonObject,
): JsonObject {
  const theirs = isObject(backend.capabilities) ? backend.capabilities : {};
  // Extensions are agreed on in every request of the revision that has them.
  const { extensions: _, tasks: __, ...capabilities } = theirs;
  const { name, version, title } = info;
  const instructions = info.instructions ?? backend.instructions;
  return {
    protocolVersion,
    capabilities: { ...capabilities, tools: capabilities.tools ?? {}, ...ours },
    serverInfo: { name, version, ...(title !== undefined && { title }) },
    ...(instructions !== undefined && { instructions }),
  };
}

/** A task as this revision shows it (L-14, L-32). Durations are in ms, `ttl` from creation. */
export function plainTask(task: SeenTask): JsonObject {
  return {
    taskId: task.id,
    status: statusOf(task),
    ...statusMessageOf(task),
    createdAt: new Date(task.createdAt).toISOString(),
    lastUpdatedAt: new Date(task.lastUpdatedAt).toISOString(),
    ttl: task.expiresAt - task.createdAt,
    pollInterval: task.pollIntervalMs,
  };
}

/** Whatever fails the request fails its task, also a result with `isError` (L-49). */
export function statusOf(task: SeenTask): TaskStatus {
  if (!isTerminal(task)) return isAsking(task) ? 'input_required' : task.status;
  return task.outcome?.kind === 'result' && task.outcome.result.isError ? 'failed' : task.status;
}

/** Longer texts are for the result to tell. */
const LONGEST_MESSAGE = 500;

/** What is shown of a task; of one that failed, why (L-49). */
export function statusMessageOf({ statusMessage, status, outcome, progress }: Task): { statusMessage?: string } {
  if (outcome?.kind === 'result' && outcome.result.isError) return { statusMessage: textOf(outcome.result) };
  if (statusMessage !== undefined) return { statusMessage };
  if (outcome?.kind === 'error' && status !== 'cancelled') return { statusMessage: outcome.error.message };
  if (progress === undefined) return {};
  const { done, total } = progress;
  return { statusMessage: total === undefined ? `${done} done` : `${done} of ${total}` };
}

/** What a tool says in words. */
export function textOf({ content }: ToolResult): string {
  const texts = content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []));
  const text = texts.join('\n') || 'the tool failed';
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text;
}

/** The mark of a message that belongs to a task (L-35). */
export function relatedTo({ id }: Pick<Task, 'id'>): JsonObject {
  return { _meta: { [RELATED_TASK]: { taskId: id } } };
}

/** Exactly what the call would have been answered with (L-24), and that it belongs to the task (L-25). */
function resultOf(task: SeenTask): JsonObject {
  const { outcome } = task;
  if (outcome?.kind === 'result') {
    const { _meta, ...rest } = toolResult(outcome.result);
    return { ...rest, _meta: { ...(_meta as JsonObject | undefined), ...(relatedTo(task)._meta as JsonObject) } };
  }
  if (outcome?.kind === 'error') throw new RpcError(outcome.error.code, outcome.error.message, outcome.error.data);
  throw new ErrandError('cancelled', 'the task was cancelled, so there is no result', { data: { taskId: task.id } });
}

export function toolResult(result: ToolResult): JsonObject {
  return { ...(result as unknown as JsonObject) };
}

export function nextCursorOf({ nextCursor }: JsonObject): JsonObject {
  return typeof nextCursor === 'string' ? { nextCursor } : {};
}

/** A result of revision 2026-07-28 without what that revision adds to each. */
export function withoutStamps(result: JsonObject): JsonObject {
  const { resultType: _, ttlMs: __, cacheScope: ___, _meta, ...rest } = result;
  if (!isObject(_meta)) return rest;
  const { 'io.modelcontextprotocol/serverInfo': ____, ...meta } = _meta;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}
