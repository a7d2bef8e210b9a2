import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { ask, expectError, send } from '../../test/asking.ts';
import type { Answer } from '../../test/asking.ts';
import { frame, PLAIN_CLIENT, TASK_CLIENT } from '../../test/fixtures/frames.ts';
import { scriptedEngine, taskOf, type MadeCall } from '../../test/scripted-engine.ts';
import type { ScriptedEngine } from '../../test/scripted-engine.ts';
import type { CallAnswer, ListedTool } from '../engine/engine.ts';
import { ErrandError, missingCapability, RpcError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { JsonRpcMessage, JsonRpcRequest } from '../jsonrpc.ts';
import { principalKey } from '../task/principal.ts';
import type { Principal } from '../task/principal.ts';
import type { Backend } from './backend.ts';
import type { Reply } from './exchange.ts';
import { createFront } from './front.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const tool = (name: string): ListedTool => ({ name, description: name, inputSchema: { type: 'object' } });
const info = { name: 'ours', version: '1.0.0' };

interface Setup {
  readonly answer?: (call: MadeCall) => CallAnswer | Promise<CallAnswer>;
  readonly backend?: Backend;
}

function front({ answer, backend }: Setup = {}): {
  exchange: ReturnType<typeof createFront>;
  engine: ScriptedEngine;
  logged: string[];
} {
  const engine = scriptedEngine([tool('work'), tool('again')], answer);
  const logged: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) });
  return { exchange: createFront({ engine, info, log, ...(backend && { backend }) }), engine, logged };
}

/** A backend that gives one result to every request, or fails it with an error. */
function backend(answers: Record<string, JsonObject | RpcError>): Backend & { readonly asked: JsonRpcRequest[] } {
  const asked: JsonRpcRequest[] = [];
  return {
    asked,
    async exchange({ message }) {
      const request = message as JsonRpcRequest;
      asked.push(request);
      const answer = answers[request.method] ?? new ErrandError('methodNotFound', 'Method not found');
      const { id } = request;
      if (!(answer instanceof RpcError))
        return { kind: 'response', status: 200, body: { jsonrpc: '2.0', id, result: answer } };
      const { code, message: text, status } = answer;
      return { kind: 'response', status, body: { jsonrpc: '2.0', id, error: { code, message: text } } };
    },
    watch: () => ({ granted: {}, stop: () => {} }),
  };
}

describe('a message', () => {
  it('of a broken shape is -32600 under 400, with its id where that can be read', async () => {
    const { exchange } = front();
    expect(await send(exchange, [frame(1, 'tools/list', {}, {})])).toEqual({
      status: 400,
      jsonrpc: '2.0',
      error: { code: -32600, message: expect.any(String) },
    });
    expect(await send(exchange, { id: 9, method: 'tools/list' })).toMatchObject({
      status: 400,
      id: 9,
      error: { code: -32600 },
    });
    expectError(await send(exchange, { jsonrpc: '2.0', id: 1, result: {} }), -32600, 400);
  });

  it('that wants no answer gets none, and cancels no task (CASES 22)', async () => {
    const { exchange, engine } = front();
    engine.commit('t');
    for (const method of ['notifications/cancelled', 'notifications/whatever']) {
      const message = { jsonrpc: '2.0', method, params: { requestId: 1, taskId: 't' } };
      const inbound = { message, principal: { kind: 'local' }, signal: new AbortController().signal } as const;
      expect(await exchange(inbound)).toEqual({ kind: 'accepted' });
    }
    expect(await ask(exchange, 'tasks/get', { taskId: 't' })).toMatchObject({ result: { status: 'working' } });
  });

  it('is answered under its id, a text as a text and a number as a number', async () => {
    const { exchange } = front();
    for (const id of ['a', '7', 7, 0, ''])
      expect(await send(exchange, frame(id, 'tools/list', {}, {}))).toMatchObject({ id });
    expect(await send(exchange, frame('bad', 'nope', {}, {}))).toMatchObject({ id: 'bad', status: 404 });
  });
});

describe('server/discover', () => {
  it('tells what the server is without a word of older tasks', async () => {
    const { result } = await ask(front().exchange, 'server/discover', {}, { capabilities: {} });
    expect(result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: { [TASKS]: {} } },
    });
  });

  it('includes what the backend can do, under our name', async () => {
    const theirs = { capabilities: { prompts: {}, extensions: { 'example.com/x': {} } }, instructions: 'theirs' };
    const { result } = await ask(
      front({ backend: backend({ 'server/discover': theirs }) }).exchange,
      'server/discover',
    );
    expect(result).toMatchObject({
      instructions: 'theirs',
      capabilities: { prompts: {}, tools: {}, extensions: { [TASKS]: {}, 'example.com/x': {} } },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'ours' } },
    });
  });
});

describe('tools/list', () => {
  const names = (answer: Answer) => answer.result!.tools.map(({ name }: ListedTool) => name);

  it('lists our tools as they were registered, every time', async () => {
    const { exchange } = front();
    for (let time = 0; time < 3; time += 1) expect(names(await ask(exchange, 'tools/list'))).toEqual(['work', 'again']);
  });

  it('goes on with the pages of the backend; its cursors pass through, its twins of ours do not', async () => {
    const pages: Record<string, JsonObject> = {
      first: { tools: [tool('theirs'), tool('again')] as unknown as JsonObject[], nextCursor: 'c/2==' },
      'c/2==': { tools: [tool('work'), tool('more')] as unknown as JsonObject[] },
    };
    const paged: Backend = {
      ...backend({}),
      async exchange({ message }) {
        const { id, params } = message as JsonRpcRequest;
        const result = pages[(params!.cursor as string | undefined) ?? 'first']!;
        return { kind: 'response', status: 200, body: { jsonrpc: '2.0', id, result } };
      },
    };
    const { exchange } = front({ backend: paged });
    const first = await ask(exchange, 'tools/list');
    expect(names(first)).toEqual(['work', 'again', 'theirs']);
    const second = await ask(exchange, 'tools/list', { cursor: first.result!.nextCursor });
    expect(names(second)).toEqual(['more']);
    expect(second.result).not.toHaveProperty('nextCursor');
  });

  it('is ours alone where the backend has no tools', async () => {
    expect(names(await ask(front({ backend: backend({}) }).exchange, 'tools/list'))).toEqual(['work', 'again']);
  });

  it('does not hide that the backend failed, nor that it does not know a cursor', async () => {
    const failing = front({ backend: backend({ 'tools/list': new RpcError(-32603, 'broken') }) });
    expectError(await ask(failing.exchange, 'tools/list'), -32603, 200);
    const refusing = front({ backend: backend({ 'tools/list': new RpcError(-32602, 'no such cursor') }) });
    expectError(await ask(refusing.exchange, 'tools/list', { cursor: 'x' }), -32602, 200);
  });
});

describe('tools/call', () => {
  it('gives the engine what this request says, and nothing of any other', async () => {
    const { exchange, engine } = front();
    const signal = new AbortController().signal;
    const alice: Principal = { kind: 'user', issuer: 'i', subject: 'alice' };
    await ask(exchange, 'tools/call', { name: 'work', arguments: { a: 1 } }, { principal: alice, signal });
    await ask(exchange, 'tools/call', { name: 'work' }, { capabilities: {} });
    const everything = {
      elicitation: { form: true, url: false },
      sampling: { tools: false, context: false },
      roots: true,
    };
    expect(engine.calls).toEqual([
      { tool: 'work', arguments: { a: 1 }, principal: alice, takesTasks: true, capabilities: everything, signal },
      expect.objectContaining({ arguments: {}, principal: { kind: 'local' }, takesTasks: false, capabilities: {} }),
    ]);
    expect(engine.calls[0]!.signal).toBe(signal);
  });

  it('answers with the result, a task, or questions, as the engine decides', async () => {
    const requests = { who: { method: 'roots/list', params: {} } } as const;
    const answers: CallAnswer[] = [
      { kind: 'result', result: { content: [{ type: 'text', text: 'hi' }] } },
      { kind: 'task', task: taskOf('t') },
      { kind: 'input', requests, requestState: 's' },
    ];
    const { exchange } = front({ answer: () => answers.shift()! });
    const call = () => ask(exchange, 'tools/call', { name: 'work' });
    expect(await call()).toMatchObject({ status: 200, result: { resultType: 'complete', content: [{ text: 'hi' }] } });
    expect(await call()).toMatchObject({ status: 200, result: { resultType: 'task', taskId: 't', status: 'working' } });
    expect(await call()).toMatchObject({
      status: 200,
      result: { resultType: 'input_required', inputRequests: requests, requestState: 's' },
    });
  });

  it('of an unknown tool is -32602 in-band', async () => {
    expectError(await ask(front().exchange, 'tools/call', { name: 'nope' }), -32602, 200);
  });

  it('of a tool that is not ours goes to the backend, ours never does', async () => {
    const theirs = backend({ 'tools/call': { resultType: 'complete', content: [] } });
    const { exchange, engine } = front({ backend: theirs });
    await ask(exchange, 'tools/call', { name: 'theirs', arguments: { a: 1 } });
    await ask(exchange, 'tools/call', { name: 'work' });
    expect(theirs.asked.map(({ params }) => params!.name)).toEqual(['theirs']);
    expect(engine.calls.map((call) => call.tool)).toEqual(['work']);
  });

  it('keeps the code, the data and the HTTP status of an error of ours', async () => {
    const answers = [
      missingCapability({ extensions: { [TASKS]: {} } }, 'work needs tasks'),
      new ErrandError('invalidParams', 'bad'),
      new RpcError(-31999, 'mine', { x: 1 }),
    ];
    const { exchange } = front({
      answer: () => {
        throw answers.shift()!;
      },
    });
    const refused = await ask(exchange, 'tools/call', { name: 'work' }, { capabilities: PLAIN_CLIENT });
    expectError(refused, -32021, 400);
    expect(refused.error!.data).toEqual({ requiredCapabilities: { extensions: { [TASKS]: {} } } });
    expectError(await ask(exchange, 'tools/call', { name: 'work' }), -32602, 200);
    expect(await ask(exchange, 'tools/call', { name: 'work' })).toMatchObject({
      status: 200,
      error: { code: -31999, data: { x: 1 } },
    });
  });

  it('that breaks in a way we do not know says so to the log, and nothing of it to the client', async () => {
    const { exchange, logged } = front({
      answer: () => {
        throw new TypeError('secret /etc/passwd');
      },
    });
    const answer = await ask(exchange, 'tools/call', { name: 'work' });
    expect(answer).toMatchObject({ status: 200, error: { code: -32603, message: 'Internal error' } });
    expect(JSON.stringify(answer)).not.toContain('secret');
    expect(logged.join()).toContain('secret');
  });

  it('that was taken back and broke for it is not an error', async () => {
    const gone = new AbortController();
    const { exchange, logged } = front({
      answer: () => {
        gone.abort();
        gone.signal.throwIfAborted();
        throw new Error('unreachable');
      },
    });
    const message = frame(1, 'tools/call', { name: 'work' }, {});
    expect(await exchange({ message, principal: { kind: 'local' }, signal: gone.signal })).toEqual({
      kind: 'accepted',
    });
    expect(logged).toEqual([]);
  });
});

describe('tasks', () => {
  const owned = (who: Principal) => ({ principal: principalKey(who) });
  const alice: Principal = { kind: 'user', issuer: 'i', subject: 'alice', client: 'app' };
  const bob: Principal = { kind: 'user', issuer: 'i', subject: 'bob', client: 'app' };

  it('of somebody else read exactly like unknown ones (CASES 1, 3)', async () => {
    const { exchange, engine } = front();
    engine.commit('t', owned(alice));
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const params = (taskId: string) => ({ taskId, inputResponses: {} });
      const { error: foreign, status } = await ask(exchange, method, params('t'), { principal: bob });
      const { error: unknown } = await ask(exchange, method, params('u'), { principal: bob });
      expect(foreign).toEqual(unknown);
      expect({ code: foreign!.code, status }).toEqual({ code: -32602, status: 200 });
      expect((await ask(exchange, method, params('t'), { principal: alice })).error).toBeUndefined();
    }
  });

  it('answer -32021 before anybody can learn whether an id exists (E-11)', async () => {
    const { exchange, engine } = front();
    engine.commit('t');
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      for (const taskId of ['t', 'gate-test']) {
        expectError(await ask(exchange, method, { taskId, inputResponses: {} }, { capabilities: {} }), -32021, 400);
      }
    }
  });

  it('forget what an earlier request declared', async () => {
    const { exchange, engine } = front();
    engine.commit('t');
    expect((await ask(exchange, 'tasks/get', { taskId: 't' }, { capabilities: TASK_CLIENT })).status).toBe(200);
    expectError(await ask(exchange, 'tasks/get', { taskId: 't' }, { capabilities: {} }), -32021, 400);
  });

  it('tasks/update acknowledges whatever the engine takes, unknown keys too (CASES 19)', async () => {
    const { exchange, engine } = front();
    engine.commit('t', { status: 'input_required' });
    const inputResponses = { unknown: { ignored: true } };
    const { result } = await ask(exchange, 'tasks/update', { taskId: 't', inputResponses });
    expect(Object.keys(result!).sort()).toEqual(['_meta', 'resultType']);
    expect(engine.answers).toEqual([{ taskId: 't', responses: inputResponses }]);
  });

  it('tasks/cancel is acknowledged again and again, and leaves a result as it is (CASES 12, 23)', async () => {
    const { exchange, engine } = front();
    engine.commit('t');
    for (let time = 0; time < 2; time += 1) {
      const { result } = await ask(exchange, 'tasks/cancel', { taskId: 't' });
      expect(Object.keys(result!).sort()).toEqual(['_meta', 'resultType']);
      expect(await ask(exchange, 'tasks/get', { taskId: 't' })).toMatchObject({ result: { status: 'cancelled' } });
    }
    engine.commit('done', { status: 'completed', outcome: { kind: 'result', result: { content: [] } } });
    await ask(exchange, 'tasks/cancel', { taskId: 'done' });
    expect(await ask(exchange, 'tasks/get', { taskId: 'done' })).toMatchObject({
      result: { status: 'completed', result: { content: [] } },
    });
  });

  it('tasks/list and tasks/result are 404 and -32601, with a backend or without (E-19)', async () => {
    for (const { exchange } of [front(), front({ backend: backend({ 'tasks/list': { tasks: [] } }) })]) {
      for (const method of ['tasks/list', 'tasks/result'])
        expectError(await ask(exchange, method, { taskId: 't' }), -32601, 404);
    }
  });
});

describe('everything else', () => {
  it('is -32601 under 404 where there is no backend', async () => {
    for (const method of ['prompts/list', 'ping', 'initialize', 'unknown/method'])
      expectError(await ask(front().exchange, method), -32601, 404);
  });

  it('goes to the backend as it came, and comes back under our name', async () => {
    const serverInfo = { name: 'theirs', version: '9' };
    const result = {
      resultType: 'complete',
      completion: { values: [] },
      _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo, kept: 1 },
    };
    const theirs = backend({ 'completion/complete': result });
    const { exchange } = front({ backend: theirs });
    const request = frame('c', 'completion/complete', { ref: {}, argument: {} }, {});
    expect(await send(exchange, request)).toMatchObject({
      id: 'c',
      result: { completion: { values: [] }, _meta: { 'io.modelcontextprotocol/serverInfo': info, kept: 1 } },
    });
    expect(theirs.asked).toEqual([request]);
    expectError(await ask(exchange, 'unknown/method'), -32601, 404);
  });

  it('may come back as a stream, whose last message is under our name', async () => {
    const progress = {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 'p', progress: 1 },
    } as const;
    const streaming: Backend = {
      ...backend({}),
      async exchange({ message }): Promise<Reply> {
        const { id } = message as JsonRpcRequest;
        async function* messages(): AsyncGenerator<JsonRpcMessage> {
          yield progress;
          yield { jsonrpc: '2.0', id, result: { resultType: 'complete', content: [] } };
        }
        return { kind: 'stream', messages: messages() };
      },
    };
    const message = frame(1, 'tools/call', { name: 'theirs' }, {});
    const reply = await front({ backend: streaming }).exchange({
      message,
      principal: { kind: 'local' },
      signal: new AbortController().signal,
    });
    const messages: JsonRpcMessage[] = [];
    if (reply.kind === 'stream') for await (const message of reply.messages) messages.push(message);
    expect(messages).toEqual([
      progress,
      {
        jsonrpc: '2.0',
        id: 1,
        result: { resultType: 'complete', content: [], _meta: { 'io.modelcontextprotocol/serverInfo': info } },
      },
    ]);
  });
});
