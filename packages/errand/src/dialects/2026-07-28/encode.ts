import type { Dialect, Served } from '../../dialect.ts';
import { isAsking, openQuestions } from '../../engine/below.ts';
import type { CallAnswer, SeenTask } from '../../engine/engine.ts';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import type { Task, ToolResult } from '../../task/task.ts';
import { theirTools } from '../tool-lists.ts';
import { ERRAND, META, TASKS, VERSION } from './envelope.ts';

/** The part of a dialect that makes results. */
export type Encode = Omit<Dialect, 'version' | 'decode' | 'listen' | 'control'>;

/** Lists may change with the next deploy, and may differ between callers: nobody keeps them. */
const UNCACHED = { ttlMs: 0, cacheScope: 'private' } as const;

/** What the engine answers, as results of this revision: each with its `resultType` and our name. */
export function createEncode({ info, engine }: Served): Encode {
  const stamp = serverStamp(info);
  const signed = (result: JsonObject): JsonObject => signedBy(stamp, result);
  const acknowledged: JsonObject = { resultType: 'complete', _meta: stamp };

  return {
    discovered(backend = {}) {
      // The `tasks` capability belongs to older revisions (N-8); the extension's settings are {} and nothing else.
      const { tasks: _, ...capabilities } = isObject(backend.capabilities) ? backend.capabilities : {};
      const extensions = isObject(capabilities.extensions) ? capabilities.extensions : {};
      const instructions = info.instructions ?? backend.instructions;
      return signed({
        resultType: 'complete',
        supportedVersions: [VERSION],
        capabilities: {
          ...capabilities,
          tools: capabilities.tools ?? {},
          extensions: { ...extensions, [TASKS]: {}, [ERRAND]: {} },
        },
        ...(instructions === undefined ? {} : { instructions }),
        ...UNCACHED,
      });
    },
    listed(tools, backend = {}) {
      return signed({
        resultType: 'complete',
        tools: [...(tools as unknown as JsonObject[]), ...theirTools({ engine }, backend)],
        ...(typeof backend.nextCursor === 'string' ? { nextCursor: backend.nextCursor } : {}),
        ...UNCACHED,
      });
    },
    called: (answer, extended) => signed(callResult(answer, extended)),
    progress: (progressToken, { progress, total, message }) => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: {
        progressToken,
        progress,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      },
    }),
    read: (task, extended) =>
      extended
        ? signed({ resultType: 'complete', ...detailedTask(task, true) })
        : { resultType: 'complete', ...detailedTask(task, false), _meta: stamp },
    // Acknowledgements say nothing of the task (E-8, E-9).
    answered: () => acknowledged,
    cancelled: () => acknowledged,
    passed: signed,
  };
}

/** What every result says of its server. */
export function serverStamp({ name, version, title }: Served['info']): JsonObject {
  return { [META.serverInfo]: { name, version, ...(title === undefined ? {} : { title }) } };
}

/** A result under what it says of its server. */
export function signedBy(stamp: JsonObject, result: JsonObject): JsonObject {
  return { ...result, _meta: { ...(result._meta as JsonObject | undefined), ...stamp } };
}

function callResult(answer: CallAnswer, extended: boolean): JsonObject {
  switch (answer.kind) {
    case 'result':
      return completeResult(answer.result);
    case 'task':
      // Flat, and without anything that a read would add (E-4, E-18).
      return { resultType: 'task', ...plainTask(answer.task, extended) };
    case 'input':
      return {
        resultType: 'input_required',
        inputRequests: answer.requests as unknown as JsonObject,
        requestState: answer.requestState,
      };
  }
}

/** What `tools/call` answers, and what a completed task carries inside: the same, but for the related-task mark (E-18). */
function completeResult(result: ToolResult): JsonObject {
  const { _meta, ...rest } = result as unknown as JsonObject & { _meta?: JsonObject };
  const { [META.relatedTask]: _, ...kept } = _meta ?? {};
  return { ...rest, ...(_meta === undefined ? {} : { _meta: kept }), resultType: 'complete' };
}

/** What every rendering of a task says of it. Times are ISO 8601, durations whole ms. */
export function plainTask(task: SeenTask, extended: boolean): JsonObject {
  const plain = {
    taskId: task.id,
    status: statusOf(task),
    ...statusMessageOf(task, extended),
    createdAt: new Date(task.createdAt).toISOString(),
    lastUpdatedAt: new Date(task.lastUpdatedAt).toISOString(),
    ttlMs: task.expiresAt - task.createdAt,
    pollIntervalMs: task.pollIntervalMs,
  };
  return extended ? { ...plain, _meta: { [ERRAND]: extensionOf(task) } } : plain;
}

/** What only clients read that know our extension. */
function extensionOf(task: SeenTask): JsonObject {
  const { paused, parent, children } = task;
  return {
    ...(paused && { paused }),
    ...progressOf(task),
    ...(parent !== undefined && { parentTaskId: parent.id }),
    ...(children !== undefined && { childTaskIds: [...children] }),
  };
}

/** How far a task is, for a wire that has a place for it. */
export function progressOf({ progress }: Task): JsonObject {
  if (progress === undefined) return {};
  const { done, total } = progress;
  return { progress: done, ...(total !== undefined && { progressTotal: total }) };
}

/** Only a JSON-RPC error is `failed`; a tool result is `completed`, whatever its `isError` says (E-12). */
export function statusOf({ status, outcome }: Task): Task['status'] {
  if (status !== 'completed' && status !== 'failed') return status;
  return outcome?.kind === 'result' ? 'completed' : 'failed';
}

function statusMessageOf(task: Task, extended: boolean): { statusMessage?: string } {
  const { status, statusMessage, outcome, progress } = task;
  if (statusMessage !== undefined) return { statusMessage };
  if (outcome?.kind === 'error' && status !== 'cancelled') return { statusMessage: outcome.error.message };
  if (progress === undefined || extended) return {};
  // There is no other place for it on this wire (CASES 25).
  const { done, total } = progress;
  return { statusMessage: total === undefined ? `${done} done` : `${done} of ${total}` };
}

/** A task with what belongs to its status (E-6): what a read answers, and what subscribers hear (E-13). */
export function detailedTask(task: SeenTask, extended: boolean): JsonObject {
  const plain = plainTask(task, extended);
  if (task.below !== undefined && isAsking(task)) return { ...plain, status: 'input_required', ...questionsOf(task) };
  switch (plain.status) {
    case 'input_required':
      return { ...plain, ...questionsOf(task) };
    case 'completed':
      return task.outcome?.kind === 'result' ? { ...plain, result: completeResult(task.outcome.result) } : plain;
    case 'failed':
      return { ...plain, error: task.outcome?.kind === 'error' ? { ...task.outcome.error } : INTERNAL };
    default:
      return plain;
  }
}

/** A failed task always carries an error. */
const INTERNAL = { code: -32603, message: 'Internal error' };

/** All questions that wait for an answer, and no other (E-6). */
function questionsOf(task: SeenTask): JsonObject {
  return { inputRequests: openQuestions(task) as unknown as JsonObject };
}
