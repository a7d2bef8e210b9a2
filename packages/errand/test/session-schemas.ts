import {
  CallToolResultSchema,
  CancelTaskResultSchema,
  CreateMessageRequestSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  GetTaskResultSchema,
  InitializeResultSchema,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  ListRootsRequestSchema,
  ListTasksResultSchema,
  ListToolsResultSchema,
  ServerNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'vitest';
import type { JsonRpcMessage, JsonRpcRequest } from '../src/jsonrpc.ts';
import type { Loose } from './wire-schemas.ts';

export const RELATED = 'io.modelcontextprotocol/related-task';

interface Schema {
  safeParse(value: unknown): { success: boolean; error?: unknown };
}

const RESULTS: Record<string, Schema> = {
  initialize: InitializeResultSchema,
  'tools/list': ListToolsResultSchema,
  'tasks/get': GetTaskResultSchema,
  'tasks/list': ListTasksResultSchema,
  'tasks/cancel': CancelTaskResultSchema,
  'tasks/result': CallToolResultSchema,
};

const REQUESTS: Record<string, Schema> = {
  'elicitation/create': ElicitRequestSchema,
  'sampling/createMessage': CreateMessageRequestSchema,
  'roots/list': ListRootsRequestSchema,
};

/** What only later revisions have. */
const LATER = ['resultType', 'ttlMs', 'pollIntervalMs', 'cacheScope', 'inputRequests', 'requestState', 'result_type'];

/**
 * Fails where a frame from the server is not valid for revision 2025-11-25, by the schemas that the official SDK of
 * that revision has and by the rules that these leave out. `request` is what a response belongs to.
 */
export function assertSessionFrame(frame: JsonRpcMessage, request?: JsonRpcRequest): void {
  const message = frame as Loose;
  if (isJSONRPCNotification(frame)) fits(ServerNotificationSchema, frame);
  else if (isJSONRPCRequest(frame)) fits(REQUESTS[frame.method] ?? fail(frame), frame);
  else if (isJSONRPCErrorResponse(frame))
    expect(message.error.code).toSatisfy((code: number) => Number.isInteger(code));
  else if (isJSONRPCResultResponse(frame)) assertResult(message.result, request);
  else fail(frame);
}

function assertResult(result: Loose, request: JsonRpcRequest | undefined): void {
  for (const key of LATER) expect(result).not.toHaveProperty(key);
  if (request === undefined) return;
  const { method, params } = request;
  if (method === 'tools/call') {
    const asked = params?.['task'] !== undefined;
    fits(asked ? CreateTaskResultSchema : CallToolResultSchema, result);
    if (asked) assertTask(result.task);
    else expect(result).not.toHaveProperty('task');
  } else if (RESULTS[method]) fits(RESULTS[method], result);
  // L-25, L-37
  if (method === 'tasks/result') expect(result._meta[RELATED]).toEqual({ taskId: params!['taskId'] });
  if (/^tasks\/(get|list|cancel)$/.test(method)) expect(result._meta ?? {}).not.toHaveProperty(RELATED);
  if (method === 'tasks/get' || method === 'tasks/cancel') assertTask(result);
  if (method === 'tasks/list') for (const task of result.tasks) assertTask(task);
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** L-14, L-32: all that a task has, and nothing of its result. */
function assertTask(task: Loose): void {
  expect(task.createdAt).toMatch(ISO);
  expect(task.lastUpdatedAt).toMatch(ISO);
  expect(task.ttl).toEqual(expect.any(Number));
  for (const key of ['result', 'error', 'progress', 'parentTaskId']) expect(task).not.toHaveProperty(key);
}

function fits(schema: Schema, value: unknown): void {
  const { success, error } = schema.safeParse(value);
  if (!success) expect.fail(`${JSON.stringify(value)} breaks its schema: ${String(error)}`);
}

function fail(value: unknown): never {
  return expect.fail(`${JSON.stringify(value)} is nothing that a server sends`);
}
