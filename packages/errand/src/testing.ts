import type { Errand } from './errand.ts';
import { RpcError } from './errors.ts';
import type { JsonObject } from './json.ts';
import type { JsonRpcResponse } from './jsonrpc.ts';
import type { Principal } from './task/principal.ts';

export interface TestClientOptions {
  /** Who the client is. Default: anonymous. */
  readonly principal?: Principal;
  /** What the client declares, beside tasks. Default: it answers forms, sampling and roots. */
  readonly capabilities?: JsonObject;
  /** Whether the client takes tasks. Default true. */
  readonly tasks?: boolean;
}

/** A client for tests of tools: it speaks 2026-07-28 to a server of the same process, without a socket. */
export interface TestClient {
  /** Sends one request as it is, and gives the response as it is. */
  request(method: string, params: JsonObject): Promise<JsonRpcResponse>;
  /** The result of `tools/call`. Throws `RpcError` for a JSON-RPC error. */
  call(tool: string, args?: JsonObject, more?: JsonObject): Promise<JsonObject>;
  /** The result of `tasks/get`. */
  read(taskId: string): Promise<JsonObject>;
  answer(taskId: string, inputResponses: JsonObject): Promise<void>;
  cancel(taskId: string): Promise<void>;
  /** Reads a task until it has one of these statuses. Rejects after `timeoutMs` (default 5 s) and says how it stands. */
  until(taskId: string, statuses: string | readonly string[], timeoutMs?: number): Promise<JsonObject>;
  /** Calls a tool and sees the call through: answers what it asks, by key. Gives the tool result. */
  run(tool: string, args?: JsonObject, answers?: JsonObject): Promise<JsonObject>;
}

const REVISION = '2026-07-28';
const TASKS = { 'io.modelcontextprotocol/tasks': {} };
const TERMINAL = ['completed', 'failed', 'cancelled'];

/** Makes a client of a server that need not be serving anything. */
export function testClient(errand: Pick<Errand, 'fetch'>, options: TestClientOptions = {}): TestClient {
  const { capabilities = { elicitation: {}, sampling: {}, roots: {} }, tasks = true, principal } = options;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientCapabilities': { ...capabilities, ...(tasks ? { extensions: TASKS } : {}) },
  };
  let lastId = 0;

  async function request(method: string, params: JsonObject): Promise<JsonRpcResponse> {
    const target = params['taskId'] ?? params['name'];
    const answer = await errand.fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': REVISION,
          'mcp-method': method,
          ...(typeof target === 'string' ? { 'mcp-name': target } : {}),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params: { ...params, _meta } }),
      }),
      principal && { principal },
    );
    return (await answer.json()) as JsonRpcResponse;
  }

  async function result(method: string, params: JsonObject): Promise<JsonObject> {
    const response = await request(method, params);
    if ('result' in response) return response.result;
    throw new RpcError(response.error.code, response.error.message, response.error.data);
  }

  const call: TestClient['call'] = (tool, args = {}, more = {}) =>
    result('tools/call', { name: tool, arguments: args, ...more });
  const read: TestClient['read'] = (taskId) => result('tasks/get', { taskId });

  const until: TestClient['until'] = async (taskId, statuses, timeoutMs = 5000) => {
    const wanted = [statuses].flat();
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const task = await read(taskId);
      if (wanted.includes(task['status'] as string)) return task;
      if (Date.now() > deadline || TERMINAL.includes(task['status'] as string)) {
        throw new Error(`the task is not ${wanted.join(' or ')}: ${JSON.stringify(task)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };

  return {
    request,
    call,
    read,
    until,
    async answer(taskId, inputResponses) {
      await result('tasks/update', { taskId, inputResponses });
    },
    async cancel(taskId) {
      await result('tasks/cancel', { taskId });
    },
    async run(tool, args = {}, answers = {}) {
      let answered = await call(tool, args);
      while (answered['resultType'] === 'input_required') {
        const { requestState } = answered;
        answered = await call(tool, args, {
          inputResponses: answers,
          ...(requestState === undefined ? {} : { requestState }),
        });
      }
      if (answered['resultType'] !== 'task') return answered;
      const taskId = answered['taskId'] as string;
      for (;;) {
        const task = await until(taskId, ['input_required', ...TERMINAL]);
        if (task['status'] === 'completed') return task['result'] as JsonObject;
        if (task['status'] !== 'input_required') throw new Error(`the task is ${JSON.stringify(task)}`);
        await result('tasks/update', { taskId, inputResponses: answers });
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  };
}
