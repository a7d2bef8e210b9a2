import type { Command, Dialect, HeaderReader, ProgressToken, Served } from '../../dialect.ts';
import { ErrandError, missingCapability } from '../../errors.ts';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import type { JsonRpcRequest } from '../../jsonrpc.ts';
import { traceContextOf } from '../../traceparent.ts';
import { inputCapabilities } from '../client-capabilities.ts';
import { calledTool, idempotencyKeyOf, invalid, isTexts, responsesOf, taskIdOf } from '../params.ts';
import { decodeControl, isControl } from './control.ts';
import { knowsErrand, readEnvelope, takesTasks, TASKS, unsupported, VERSION } from './envelope.ts';
import type { Envelope } from './envelope.ts';
import {
  checkMethodHeader,
  checkNameHeader,
  checkParamHeaders,
  checkVersionHeader,
  paramHeadersOf,
} from './headers.ts';
import type { ParamHeader } from './headers.ts';

/** The methods that are answered here. */
const OURS = new Set([
  'server/discover',
  'tools/list',
  'tools/call',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'subscriptions/listen',
]);

/** Methods of older revisions: a backend that still knows them is not asked. */
const GONE = new Set(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']);

/** Where there are no methods but those that are answered here. */
const RESERVED = /^(tasks|errand)\//;

/** More tasks than that are watched by several subscriptions. */
const MAX_WATCHED = 1000;

/**
 * Requests of this revision to commands. The order of the checks is what clients and the
 * conformance suite rely on: envelope, version, `Mcp-Method`, method, `Mcp-Name`, capability, params.
 */
export function createDecode({ engine, backed }: Served): Dialect['decode'] {
  // A tool never changes, so its schema is walked once, not with every call.
  const paramHeaders = new Map<string, readonly ParamHeader[]>();
  const paramHeadersOfTool = (name: string): readonly ParamHeader[] => {
    let found = paramHeaders.get(name);
    if (!found) {
      const tool = engine.tools(true).find((tool) => tool.name === name);
      if (!tool) return [];
      found = paramHeadersOf(tool.inputSchema);
      paramHeaders.set(name, found);
    }
    return found;
  };

  return (request, header) => {
    const { method } = request;
    const params = request.params ?? {};
    const envelope = readEnvelope(request, header);
    if (header) checkVersionHeader(header, envelope.version);
    if (envelope.version !== VERSION) throw unsupported(envelope.version);
    if (header) checkMethodHeader(header, method);
    // Whatever else lies under tasks/ is reserved (E-20): tasks/result and tasks/list are gone (E-19).
    if (!OURS.has(method) && !isControl(method) && (!backed || GONE.has(method) || RESERVED.test(method))) {
      throw new ErrandError('methodNotFound', `Method not found: ${method}`);
    }
    if (header) checkNameHeader(header, request);
    switch (method) {
      case 'tools/call': {
        const call = decodeCall(params, envelope, header);
        const extended = knowsErrand(envelope);
        if (header) checkParamHeaders(paramHeadersOfTool(call.tool), call.arguments, header);
        const { progressToken } = envelope.meta;
        // A task has no progress notifications (CASES 25).
        return call.takesTasks || progressToken === undefined
          ? { kind: 'call', call, extended }
          : { kind: 'call', call, extended, progressToken: progressToken as ProgressToken };
      }
      case 'tasks/get':
        return { kind: 'read', taskId: taskOf(request, envelope), extended: knowsErrand(envelope) };
      case 'tasks/update': {
        const taskId = taskOf(request, envelope);
        if (!isObject(params.inputResponses)) throw invalid('inputResponses must be an object');
        return { kind: 'answer', taskId, responses: params.inputResponses };
      }
      case 'tasks/cancel':
        return { kind: 'cancel', taskId: taskOf(request, envelope) };
      case 'subscriptions/listen':
        return decodeListen(params, envelope);
      case 'tools/list':
        return decodeList(params, envelope, backed);
      case 'server/discover':
        return { kind: 'discover' };
      default:
        return isControl(method) ? decodeControl(method, params, envelope) : { kind: 'foreign' };
    }
  };
}

function decodeCall(
  params: JsonObject,
  envelope: Envelope,
  header: HeaderReader | undefined,
): (Command & { kind: 'call' })['call'] {
  // An older client's `params.task` is not looked at (E-19).
  const { inputResponses, requestState } = params;
  const called = calledTool(params);
  if (requestState !== undefined && typeof requestState !== 'string') throw invalid('requestState must be a string');
  const trace = traceContextOf(envelope.meta, header);
  return {
    ...called,
    takesTasks: takesTasks(envelope),
    capabilities: inputCapabilities(envelope.capabilities),
    ...(inputResponses === undefined ? {} : { inputResponses: responsesOf(inputResponses) }),
    ...(requestState === undefined ? {} : { requestState }),
    ...(trace && { trace }),
    ...idempotencyKeyOf(envelope.meta),
  };
}

/** The task that a request is about. That its sender takes tasks comes first (E-11), so that nobody can probe for ids. */
function taskOf({ method, params = {} }: JsonRpcRequest, envelope: Envelope): string {
  requireTasks(envelope, method);
  return taskIdOf(params);
}

function requireTasks(envelope: Envelope, what: string): void {
  if (takesTasks(envelope)) return;
  throw missingCapability({ extensions: { [TASKS]: {} } }, `${what} needs the extension ${TASKS}`);
}

const SWITCHES = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const;

function decodeListen(params: JsonObject, envelope: Envelope): Command {
  const filter = params.notifications;
  if (!isObject(filter)) throw invalid('notifications must be an object');
  const { taskIds, ...changes } = filter;
  if (taskIds !== undefined) requireTasks(envelope, 'notifications.taskIds');
  for (const key of SWITCHES) {
    const on = changes[key];
    if (on !== undefined && typeof on !== 'boolean') throw invalid(`notifications.${key} must be a boolean`);
  }
  if (changes.resourceSubscriptions !== undefined && !isTexts(changes.resourceSubscriptions)) {
    throw invalid('notifications.resourceSubscriptions must be an array of strings');
  }
  if (taskIds !== undefined && !isTexts(taskIds)) throw invalid('notifications.taskIds must be an array of strings');
  const unique = [...new Set(taskIds)];
  if (unique.length > MAX_WATCHED) throw invalid(`notifications.taskIds may name ${MAX_WATCHED} tasks at most`);
  return { kind: 'listen', taskIds: unique, changes, extended: knowsErrand(envelope) };
}

function decodeList({ cursor }: JsonObject, envelope: Envelope, backed: boolean): Command {
  if (cursor === undefined) return { kind: 'list', takesTasks: takesTasks(envelope) };
  // Our own tools are one page, so that every cursor is the backend's.
  if (typeof cursor !== 'string' || !backed) throw invalid('cursor is not one of ours');
  return { kind: 'list', takesTasks: takesTasks(envelope), cursor };
}
