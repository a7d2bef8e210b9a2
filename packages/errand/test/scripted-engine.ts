import type { CallAnswer, Caller, Control, Engine, ListedTool, ToolCall } from '../src/engine/engine.ts';
import { taskNotFound } from '../src/errors.ts';
import { LOCAL, principalKey } from '../src/task/principal.ts';
import type { Principal } from '../src/task/principal.ts';
import { isTerminal } from '../src/task/task.ts';
import type { Task } from '../src/task/task.ts';

/** A task that has just been made, with whatever a test wants otherwise. */
export function taskOf(id: string, rest: Partial<Task> = {}): Task {
  return {
    id,
    version: 1,
    principal: principalKey(LOCAL),
    tool: 'work',
    toolVersion: '1',
    arguments: {},
    seed: 'seed',
    capabilities: {},
    status: 'working',
    inputs: {},
    createdAt: Date.UTC(2026, 6, 28, 12),
    lastUpdatedAt: Date.UTC(2026, 6, 28, 12, 0, 1),
    deadlineAt: Date.UTC(2026, 6, 29, 12),
    expiresAt: Date.UTC(2026, 6, 30, 12),
    pollIntervalMs: 1000,
    epoch: 0,
    runs: 0,
    events: 0,
    ...rest,
  };
}

/** A call, and who made it. */
export interface MadeCall extends ToolCall, Caller {}

/** What a test has no use for until it says otherwise. */
const NO_CONTROL: Control = {
  pause: () => Promise.reject(new Error('not in this test')),
  resume: () => Promise.reject(new Error('not in this test')),
  steer: () => Promise.reject(new Error('not in this test')),
  graph: () => Promise.reject(new Error('not in this test')),
  events: () => Promise.reject(new Error('not in this test')),
  list: () => Promise.reject(new Error('not in this test')),
};

/** An engine whose tasks are what a test says they are. */
export interface ScriptedEngine extends Engine {
  /** Every call that reached the engine, in order. */
  readonly calls: MadeCall[];
  /** Every set of answers that reached the engine, in order. */
  readonly answers: { readonly taskId: string; readonly responses: Readonly<Record<string, unknown>> }[];
  /** How many listeners watch at the moment. */
  watching(): number;
  /** Commits the state of a task, one version later, and tells whoever watches it. */
  commit(id: string, change?: Partial<Task>): Task;
}

export function scriptedEngine(
  tools: readonly ListedTool[],
  answer: (call: MadeCall) => CallAnswer | Promise<CallAnswer> = () => ({ kind: 'result', result: { content: [] } }),
): ScriptedEngine {
  const tasks = new Map<string, Task>();
  const watchers = new Map<string, Set<(task: Task) => void>>();
  const calls: MadeCall[] = [];
  const answers: ScriptedEngine['answers'] = [];

  async function read(principal: Principal, taskId: string): Promise<Task> {
    const task = tasks.get(taskId);
    if (task?.principal !== principalKey(principal)) throw taskNotFound();
    return task;
  }

  function commit(id: string, change: Partial<Task> = {}): Task {
    const before = tasks.get(id);
    const task = before
      ? { ...before, lastUpdatedAt: before.lastUpdatedAt + 1, ...change, version: before.version + 1 }
      : taskOf(id, change);
    tasks.set(id, task);
    for (const listener of watchers.get(id) ?? []) listener(task);
    return task;
  }

  return {
    control: NO_CONTROL,
    calls,
    answers,
    read,
    commit,
    watching: () => [...watchers.values()].reduce((sum, { size }) => sum + size, 0),
    tools: () => tools,
    hasTool: (name) => tools.some((tool) => tool.name === name),
    taskUse: (name) => (tools.some((tool) => tool.name === name) ? 'optional' : undefined),
    async call(call, { principal, scopes, signal }) {
      const made = { ...call, principal, ...(scopes && { scopes }), signal };
      calls.push(made);
      return answer(made);
    },
    async answer(principal, taskId, responses) {
      const task = await read(principal, taskId);
      answers.push({ taskId, responses });
      return task;
    },
    async decline(principal, taskId) {
      await read(principal, taskId);
    },
    bornIn: async () => [],
    onForeignTasks: () => () => undefined,
    async cancel(principal, taskId) {
      const task = await read(principal, taskId);
      return isTerminal(task) ? task : commit(taskId, { status: 'cancelled' });
    },
    watch(taskId, listener) {
      const listeners = watchers.get(taskId) ?? new Set();
      watchers.set(taskId, listeners.add(listener));
      return () => listeners.delete(listener);
    },
  };
}
