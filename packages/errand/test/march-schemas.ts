import { expect } from 'vitest';
import type { JsonRpcMessage, JsonRpcRequest } from '../src/jsonrpc.ts';
import type { Loose } from './wire-schemas.ts';

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const ENDED = ['completed', 'failed', 'cancelled'];

/** What the drafts never had. */
const LATER = ['resultType', 'ttlMs', 'pollIntervalMs', 'cacheScope'];

/**
 * Fails where a frame from the server breaks a rule of the March drafts. They published no schemas that include all of
 * them, so the rules are written out. `request` is what a response belongs to.
 */
export function assertMarchFrame(frame: JsonRpcMessage, request?: JsonRpcRequest): void {
  const message = frame as Loose;
  expect(message.jsonrpc).toBe('2.0');
  if (message.method === 'notifications/tasks/status') assertDetailed(message.params);
  if (message.result === undefined || request === undefined) return;
  const { result } = message;
  for (const key of LATER) expect(result).not.toHaveProperty(key);
  const { method, params } = request;
  if (result.result_type !== undefined) {
    assertIncomplete(result, method);
    return;
  }
  if (method === 'tools/call' && result.task !== undefined) {
    // U-12: the lone key tells it apart, and a new task is at work (K-1: it came to nothing so far).
    expect(Object.keys(result)).toEqual(['task']);
    expect(result.task.status).toBe('working');
    assertTask(result.task);
    for (const key of ['result', 'error']) expect(result.task).not.toHaveProperty(key);
  } else if (method === 'tasks/get' || method === 'tasks/continue') {
    expect(result.taskId).toBe(params!['taskId']);
    assertDetailed(result);
    expect(result._meta ?? {}).not.toHaveProperty('io.modelcontextprotocol/related-task'); // K-18
  } else if (method === 'tasks/cancel') assertTask(result);
  else if (method === 'tasks/list') for (const task of result.tasks) assertTask(task);
}

function assertTask(task: Loose): void {
  expect(task.createdAt).toMatch(ISO);
  expect(task.lastUpdatedAt).toMatch(ISO);
  expect(task.ttl).toEqual(expect.any(Number));
  expect(task).not.toHaveProperty('inputRequests'); // K-12
  if (task.progressTotal !== undefined) expect(task.progressTotal).toBeGreaterThanOrEqual(task.progress); // P-4
  if (task.childTaskIds !== undefined) {
    expect(task.childTaskIds).not.toContain(task.taskId); // S-2
    expect(new Set(task.childTaskIds).size).toBe(task.childTaskIds.length);
  }
  expect(task.parentTaskId).not.toBe(task.taskId); // S-1
}

/** K-1 to K-3: what a task came to is there exactly when it came to something. */
function assertDetailed(task: Loose): void {
  assertTask(task);
  expect('result' in task).toBe(task.status === 'completed');
  expect('error' in task).toBe(task.status === 'failed');
  if (task.status === 'failed')
    expect(task.error).toMatchObject({ code: expect.any(Number), message: expect.any(String) });
  if (!ENDED.includes(task.status)) expect(['working', 'input_required']).toContain(task.status);
}

/** M-1, M-2, R-2, R-3: it asks something, and is no task. */
function assertIncomplete(result: Loose, method: string): void {
  expect(result.result_type).toBe('incomplete');
  expect(Object.keys(result.inputRequests).length).toBeGreaterThan(0);
  for (const { method, params } of Object.values<Loose>(result.inputRequests)) {
    expect(['elicitation/create', 'sampling/createMessage', 'roots/list']).toContain(method);
    expect(params).toEqual(expect.any(Object));
  }
  for (const key of ['taskId', 'status', 'createdAt', 'task', 'content']) expect(result).not.toHaveProperty(key);
  if (method === 'tasks/continue') expect(result).not.toHaveProperty('requestState');
}
