import type { Errand } from '../errand.ts';
import { RpcError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { JsonRpcResponse } from '../jsonrpc.ts';
import type { Principal } from '../task/principal.ts';

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
  /** Calls a tool that answers with a task, and gives the task's id. Throws where it answers otherwise. Turns no clock. */
  begin(tool: string, args?: JsonObject): Promise<string>;
  /** The result of `tasks/get`. */
  read(taskId: string): Promise<JsonObject>;
  answer(taskId: string, inputResponses: JsonObject): Promise<void>;
  cancel(taskId: string): Promise<void>;
  /**
   * Reads a task until it has one of these statuses. Rejects after `timeoutMs` of real time (default
   * 5 s), or when the task has ended otherwise, and says how it stands. A virtual clock is turned
   * meanwhile, from timer to timer.
   */
  until(taskId: string, statuses: string | readonly string[], timeoutMs?: number): Promise<JsonObject>;
  /**
   * Calls a tool and sees the call through, as `until` does: answers what it asks, by key. Gives the
   * tool result. Rejects where the task fails, or asks only what there is no answer for. While the call is held a
   * virtual clock is turned, too; where it is not answered then, it rejects after 5 s of real time.
   */
  run(tool: string, args?: JsonObject, answers?: JsonObject): Promise<JsonObject>;
}

/** How a client waits for what is to come. */
export interface Waiting {
  /** Lets come what needs no time. */
  settle(): Promise<void>;
  /** Lets some time pass. `false` where none can. */
  pass(): Promise<boolean>;
  /** Sees a call through that may be held: lets pass what time it takes to be answered. */
  through<T>(call: Promise<T>): Promise<T>;
  /** Why a task may have failed that ran out of time, if the way of waiting can be why. */
  excuse(): string;
}

const REVISION = '2026-07-28';
const TASKS = { 'io.modelcontextprotocol/tasks': {} };
const DEADLINE_PASSED = -31010;
const TERMINAL = ['completed', 'failed', 'cancelled'];

const REAL_TIME: Waiting = {
  settle: () => Promise.resolve(),
  pass: () => new Promise((resolve) => setTimeout(resolve, 5, true)),
  through: (call) => call,
  excuse: () => '',
};

/** Makes a client of a server that need not be serving anything. */
export function testClient(errand: Pick<Errand, 'fetch'>, options: TestClientOptions = {}): TestClient {
  return clientOver(errand, options, REAL_TIME);
}

export function clientOver(
  errand: Pick<Errand, 'fetch'>,
  options: TestClientOptions,
  { settle, pass, through, excuse }: Waiting,
): TestClient {
  const { capabilities = { elicitation: {}, sampling: {}, roots: {} }, tasks = true, principal } = options;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientCapabilities': { ...capabilities, ...(tasks ? { extensions: TASKS } : {}) },
  };
  const withMeta = (params: JsonObject): JsonObject => ({
    ...params,
    _meta: { ...(params['_meta'] as JsonObject | undefined), ..._meta },
  });
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
        body: JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params: withMeta(params) }),
      }),
      principal && { principal },
    );
    return responseIn(await answer.text());
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
      await settle();
      const task = await read(taskId);
      const status = task['status'] as string;
      if (wanted.includes(status)) return task;
      if (TERMINAL.includes(status) || Date.now() > deadline || !(await pass()))
        throw new Error(`the task is not ${wanted.join(' or ')}: ${JSON.stringify(task)}${whyLate(task)}`);
    }
  };

  /** An effect that took longer than a turned clock stood still looks like a task that was too slow. */
  function whyLate({ error }: JsonObject): string {
    return (error as JsonObject | undefined)?.['code'] === DEADLINE_PASSED ? excuse() : '';
  }

  return {
    request,
    call,
    async begin(tool, args) {
      const answer = await call(tool, args);
      if (answer['resultType'] !== 'task') throw new Error(`tool "${tool}" made no task: ${JSON.stringify(answer)}`);
      return answer['taskId'] as string;
    },
    read,
    until,
    async answer(taskId, inputResponses) {
      await result('tasks/update', { taskId, inputResponses });
    },
    async cancel(taskId) {
      await result('tasks/cancel', { taskId });
    },
    async run(tool, args = {}, answers = {}) {
      let answered = await through(call(tool, args));
      while (answered['resultType'] === 'input_required') {
        const { requestState } = answered;
        const more = {
          inputResponses: answersTo(answered, answers),
          ...(requestState !== undefined && { requestState }),
        };
        answered = await through(call(tool, args, more));
      }
      if (answered['resultType'] !== 'task') return answered;
      const taskId = answered['taskId'] as string;
      for (;;) {
        const task = await until(taskId, ['input_required', ...TERMINAL]);
        if (task['status'] === 'completed') return task['result'] as JsonObject;
        if (task['status'] !== 'input_required') throw new Error(`the task is ${JSON.stringify(task)}${whyLate(task)}`);
        await result('tasks/update', { taskId, inputResponses: answersTo(task, answers) });
      }
    },
  };
}

/** The response in a body: all of it, or the last message of a stream, which a call gets that is held for a while. */
function responseIn(body: string): JsonRpcResponse {
  const last = body.startsWith('{') ? body : body.slice(body.lastIndexOf('\ndata: ') + '\ndata: '.length);
  return JSON.parse(last) as JsonRpcResponse;
}

/** The answers, where they are good for one of the questions. Throws where it would be asked the same again. */
function answersTo({ inputRequests = {} }: JsonObject, answers: JsonObject): JsonObject {
  const keys = Object.keys(inputRequests as JsonObject);
  if (keys.some((key) => Object.hasOwn(answers, key))) return answers;
  throw new Error(`it asks ${keys.map((key) => `"${key}"`).join(', ')}, and no answer to that was given`);
}
