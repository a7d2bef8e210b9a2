import type {
  HeaderReader,
  ProgressToken,
  SessionCommand,
  SessionDialect,
  SessionServed,
  Terms,
} from '../../dialect.ts';
import type { ToolCall } from '../../engine/engine.ts';
import { ErrandError } from '../../errors.ts';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import { isRequestId } from '../../jsonrpc.ts';
import { traceContextOf } from '../../traceparent.ts';
import { isLogLevel } from '../client-capabilities.ts';
import { calledTool, idempotencyKeyOf, invalid, taskIdOf } from '../params.ts';

/** Where there are no methods but those that are answered here: what lies there else is of other revisions. */
const RESERVED = /^(tasks|errand|server|subscriptions)\//;

/** What a backend of revision 2026-07-28 has no answer to. */
const GONE = new Set(['initialize']);

/** Requests of this revision to commands. */
export function createDecode(served: SessionServed, { capabilities }: Terms): SessionDialect['decode'] {
  return (request, header) => {
    const { method, params = {} } = request;
    switch (method) {
      case 'tools/call':
        return decodeCall(served, params, capabilities, header);
      case 'tasks/get':
        return { kind: 'read', taskId: taskIdOf(params), extended: false };
      case 'tasks/result':
        return { kind: 'result', taskId: taskIdOf(params) };
      case 'tasks/cancel':
        return { kind: 'cancel', taskId: taskIdOf(params) };
      default:
        return decodeCommon(served, method, params);
    }
  };
}

/** What is alike in all revisions that have sessions. */
export function decodeCommon(
  { lists, backed }: SessionServed,
  method: string,
  params: JsonObject,
  takesTasks = false,
): SessionCommand {
  switch (method) {
    case 'ping':
      return { kind: 'ping' };
    case 'tools/list':
      return { kind: 'list', takesTasks, ...cursorOf(params, backed) };
    case 'tasks/list':
      // It is declared only where callers can be told apart (L-5, L-51).
      if (!lists) throw methodNotFound(method);
      return { kind: 'tasks', ...cursorOf(params, true) };
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      if (!backed) throw methodNotFound(method);
      if (typeof params.uri !== 'string') throw invalid('uri must be a string');
      return { kind: 'follow', uri: params.uri, on: method === 'resources/subscribe' };
    case 'logging/setLevel':
      if (!backed) throw methodNotFound(method);
      if (!isLogLevel(params.level)) throw invalid('level is no log level');
      return { kind: 'logs', level: params.level };
    default:
      if (!backed || GONE.has(method) || RESERVED.test(method)) throw methodNotFound(method);
      return { kind: 'foreign' };
  }
}

function decodeCall(
  { engine }: SessionServed,
  params: JsonObject,
  capabilities: ToolCall['capabilities'],
  header: HeaderReader | undefined,
): SessionCommand {
  const called = calledTool(params);
  const asked = taskWish(params.task);
  checkTaskUse(called.tool, engine.taskUse(called.tool), asked !== undefined);
  const meta = metaOf(params);
  return callCommand(
    { ...called, ...callFacts(meta, header), takesTasks: asked !== undefined, capabilities, ...asked },
    meta,
    false,
  );
}

/** A call, with what its client wants to hear of how it goes on. */
export function callCommand(call: ToolCall, { progressToken: token }: JsonObject, extended: boolean): SessionCommand {
  if (token === undefined) return { kind: 'call', call, extended };
  if (!isRequestId(token)) throw invalid('_meta.progressToken must be a string or an integer');
  return { kind: 'call', call, extended, progressToken: token satisfies ProgressToken };
}

/** What the `_meta` of a call says beside its progress token. */
export function callFacts(
  meta: JsonObject,
  header: HeaderReader | undefined,
): Pick<ToolCall, 'trace' | 'idempotencyKey'> {
  const trace = traceContextOf(meta, header);
  return { ...(trace && { trace }), ...idempotencyKeyOf(meta) };
}

export function metaOf({ _meta: meta = {} }: JsonObject): JsonObject {
  if (!isObject(meta)) throw invalid('_meta must be an object');
  return meta;
}

/** What `params.task` asks for (L-12); `undefined` where it is not there. */
function taskWish(task: unknown): Pick<ToolCall, 'wantsTask' | 'ttlMs'> | undefined {
  if (task === undefined) return undefined;
  return { wantsTask: true, ...ttlWish(task) };
}

/** For how long a client wants its task to be kept. */
export function ttlWish(task: unknown): Pick<ToolCall, 'ttlMs'> {
  if (!isObject(task)) throw invalid('task must be an object');
  if (task.ttl === undefined) return {};
  if (typeof task.ttl !== 'number' || !(task.ttl >= 0)) throw invalid('task.ttl must be a number of milliseconds');
  return { ttlMs: task.ttl };
}

/** A client asks for a task where the tool can make one (L-9), and must where it can do nothing else (L-11). */
function checkTaskUse(tool: string, use: ReturnType<SessionServed['engine']['taskUse']>, asked: boolean): void {
  // A tool of the backend makes no tasks.
  if (asked && (use ?? 'forbidden') === 'forbidden') {
    throw new ErrandError('methodNotFound', `Tool ${tool} does not run as a task: call it without params.task`);
  }
  if (!asked && use === 'required') {
    throw new ErrandError('methodNotFound', `Tool ${tool} runs as a task only: call it with params.task`);
  }
}

function cursorOf({ cursor }: JsonObject, isPaged: boolean): { readonly cursor?: string } {
  if (cursor === undefined) return {};
  if (typeof cursor !== 'string' || !isPaged) throw invalid('cursor is not one of ours');
  return { cursor };
}

export function methodNotFound(method: string): ErrandError {
  return new ErrandError('methodNotFound', `Method not found: ${method}`);
}
