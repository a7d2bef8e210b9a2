import {
  CallToolResultSchema,
  CompleteResultSchema,
  DiscoverResultSchema,
  GetPromptResultSchema,
  ImplementationSchema,
  JSONRPCErrorResponseSchema,
  JSONRPCNotificationSchema,
  JSONRPCResultResponseSchema,
  ListPromptsResultSchema,
  ListResourceTemplatesResultSchema,
  ListResourcesResultSchema,
  ListToolsResultSchema,
  ReadResourceResultSchema,
  ServerNotificationSchema,
  SubscriptionsAcknowledgedNotificationSchema,
  SubscriptionsListenResultSchema,
} from '@modelcontextprotocol/core';
import {
  CallToolResultV2Schema,
  CancelTaskResultV2Schema,
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
  TasksExtensionCapabilityV2Schema,
  TaskStatusNotificationV2Schema,
  TaskSubscriptionAcknowledgedNotificationsV2Schema,
  ToolV2Schema,
  UpdateTaskResultV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { expect } from 'vitest';

const TASKS = 'io.modelcontextprotocol/tasks';
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const SERVER = 'io.modelcontextprotocol/serverInfo';

interface Schema {
  safeParse(value: unknown): { success: boolean; error?: unknown };
}

/** What came off a wire: tests look into it, and the assertions are the check. */
export type Loose = ReturnType<typeof JSON.parse>;

type Frame = Record<string, Loose>;

const RESULTS: Record<string, Schema> = {
  'server/discover': DiscoverResultSchema,
  'tools/list': ListToolsResultSchema,
  'prompts/list': ListPromptsResultSchema,
  'prompts/get': GetPromptResultSchema,
  'resources/list': ListResourcesResultSchema,
  'resources/templates/list': ListResourceTemplatesResultSchema,
  'resources/read': ReadResourceResultSchema,
  'completion/complete': CompleteResultSchema,
  'tasks/get': GetTaskResultV2Schema,
  'tasks/update': UpdateTaskResultV2Schema,
  'tasks/cancel': CancelTaskResultV2Schema,
  'subscriptions/listen': SubscriptionsListenResultSchema,
};

/** Results that say for how long they may be kept. */
const CACHEABLE = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

/** The codes of the protocol; any other must lie outside the range that JSON-RPC reserves. */
const CODES = new Set([-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022]);

/**
 * Fails where a frame from the server is not valid for revision 2026-07-28 with the tasks
 * extension, by the schemas that `@modelcontextprotocol/core` and `ext-tasks` publish and by the
 * rules of the specification that these leave out. `request` is what the frame belongs to.
 */
export function assertValidFrame(frame: unknown, request: { readonly method: string; readonly id?: unknown }): void {
  const message = frame as Frame;
  if ('method' in message) assertNotification(message);
  else if ('error' in message) assertError(message, request.id);
  else assertResult(message, request);
}

function assertResult(message: Frame, { method, id }: { readonly method: string; readonly id?: unknown }): void {
  fits(JSONRPCResultResponseSchema, message);
  if (id !== undefined) expect(message.id).toBe(id);
  const { result } = message as { result: Frame };
  expect(['complete', 'input_required', 'task']).toContain(result.resultType);
  fits(ImplementationSchema, result._meta?.[SERVER]);
  if (method === 'tools/call') return assertCallResult(result);
  if (result.resultType !== 'complete') {
    expect([method, result.resultType]).toEqual([
      expect.stringMatching(/^(prompts\/get|resources\/read)$/),
      'input_required',
    ]);
    return;
  }
  const schema = RESULTS[method];
  if (schema) fits(schema, result);
  if (method === 'tools/list') for (const tool of result.tools) fits(ToolV2Schema, tool);
  if (method === 'tasks/get') assertTask(result);
  if (method === 'tasks/update' || method === 'tasks/cancel')
    expect(Object.keys(result).sort()).toEqual(['_meta', 'resultType']);
  if (method === 'server/discover') {
    fits(TasksExtensionCapabilityV2Schema, result.capabilities.extensions[TASKS]);
    expect(result.capabilities).not.toHaveProperty('tasks');
  }
  if (CACHEABLE.has(method)) {
    expect(result.ttlMs).toSatisfy((ttl: unknown) => Number.isInteger(ttl) && (ttl as number) >= 0);
    expect(['public', 'private']).toContain(result.cacheScope);
  } else expect(result).not.toHaveProperty('cacheScope');
}

function assertCallResult(result: Frame): void {
  if (result.resultType === 'task') {
    fits(CreateTaskResultV2Schema, result);
    assertPlainTask(result);
    for (const key of ['task', 'result', 'error', 'inputRequests', 'requestState', 'content', 'ttl', 'pollInterval']) {
      expect(result).not.toHaveProperty(key);
    }
    return;
  }
  fits(CallToolResultV2Schema, result);
  if (result.resultType === 'complete') {
    fits(CallToolResultSchema, result);
    for (const key of ['taskId', 'task', 'inputRequests', 'requestState']) expect(result).not.toHaveProperty(key);
  } else if (result.inputRequests !== undefined) {
    expect(Object.keys(result.inputRequests).length).toBeGreaterThan(0);
  }
}

/** The part that belongs to the task's status is there, and no other. */
const PARTS: Record<string, string | undefined> = {
  input_required: 'inputRequests',
  completed: 'result',
  failed: 'error',
};

function assertTask(task: Frame): void {
  assertPlainTask(task);
  const part = PARTS[task.status];
  for (const key of ['inputRequests', 'result', 'error']) {
    if (key === part) expect(task).toHaveProperty(key);
    else expect(task).not.toHaveProperty(key);
  }
  for (const key of ['task', 'requestState', 'ttl', 'pollInterval']) expect(task).not.toHaveProperty(key);
  if (task.status === 'input_required') expect(Object.keys(task.inputRequests).length).toBeGreaterThan(0);
  if (task.status === 'failed') expect(task.statusMessage).toEqual(expect.any(String));
  if (task.status !== 'completed') return;
  fits(CallToolResultV2Schema, task.result);
  expect(task.result.resultType).toBe('complete');
  expect(task.result._meta ?? {}).not.toHaveProperty('io.modelcontextprotocol/related-task');
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

function assertPlainTask({ createdAt, lastUpdatedAt, ttlMs, pollIntervalMs }: Frame): void {
  expect(createdAt).toMatch(ISO);
  expect(lastUpdatedAt).toMatch(ISO);
  expect(Date.parse(lastUpdatedAt)).toBeGreaterThanOrEqual(Date.parse(createdAt));
  if (ttlMs !== null) expect(ttlMs).toSatisfy((ttl: unknown) => Number.isInteger(ttl) && (ttl as number) > 0);
  if (pollIntervalMs !== undefined) {
    expect(pollIntervalMs).toSatisfy((ms: unknown) => Number.isInteger(ms) && (ms as number) > 0);
  }
}

function assertNotification(message: Frame): void {
  expect(message, 'a server of this revision sends no requests').not.toHaveProperty('id');
  fits(JSONRPCNotificationSchema, message);
  const { method, params } = message;
  if (method === 'notifications/tasks') {
    fits(TaskStatusNotificationV2Schema, message);
    assertTask(params);
  } else if (method === 'notifications/subscriptions/acknowledged') {
    fits(SubscriptionsAcknowledgedNotificationSchema, message);
    fits(TaskSubscriptionAcknowledgedNotificationsV2Schema, params.notifications);
  } else {
    fits(ServerNotificationSchema, message);
    if (method === 'notifications/progress' || method === 'notifications/message') return;
  }
  expect(['string', 'number']).toContain(typeof params._meta[SUBSCRIPTION]);
}

function assertError(message: Frame, id: unknown): void {
  fits(JSONRPCErrorResponseSchema, message);
  if (id !== undefined && message.id !== undefined) expect(message.id).toBe(id);
  const { code, data } = message.error;
  expect(code).toSatisfy((code: number) => CODES.has(code) || code < -32768 || code > -32000);
  if (code === -32021) expect(data.requiredCapabilities).toEqual(expect.any(Object));
  if (code === -32022) expect(data).toMatchObject({ supported: ['2026-07-28'], requested: expect.any(String) });
}

function fits(schema: Schema, value: unknown): void {
  const { success, error } = schema.safeParse(value);
  if (!success) expect.fail(`${JSON.stringify(value)} breaks its schema: ${String(error)}`);
}
