import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  InMemoryTransport,
  McpServer,
  PerRequestHTTPServerTransport,
  type AuthInfo,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { frame, headersOf, messagesOf, PLAIN_CLIENT, TASK_CLIENT, TASKS, VERSION } from '../../test/fixtures/frames.ts';
import { scriptedEngine, type ScriptedEngine } from '../../test/scripted-engine.ts';
import type { ListedTool } from '../engine/engine.ts';
import type { JsonObject } from '../json.ts';
import type { JsonRpcMessage, JsonRpcRequest } from '../jsonrpc.ts';
import { principalKey } from '../task/principal.ts';
import { attach } from './attach.ts';
import type { AttachOptions } from './sdk-server.ts';
import { notebook } from './sdk/notebook.suite.ts';

const INK: ListedTool = {
  name: 'ink',
  inputSchema: { type: 'object', properties: { colour: { type: 'string', 'x-mcp-header': 'Colour' } } },
};
const SEAL: ListedTool = { name: 'seal', inputSchema: { type: 'object' } };

const log = pino({ level: 'silent' });
const info = { name: 'errand-attach-test', version: '1.0.0' };

/** An engine whose tool `ink` always makes a task, of whoever calls, and whose tool `seal` waits to be taken back. */
function inkEngine(): ScriptedEngine {
  let count = 0;
  const engine: ScriptedEngine = scriptedEngine([INK, SEAL], async ({ tool, principal, signal }) => {
    if (tool === 'seal') await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return { kind: 'task', task: engine.commit(`task-${++count}`, { tool, principal: principalKey(principal) }) };
  });
  return engine;
}

function attached(engine: ScriptedEngine, options?: AttachOptions): McpServer {
  const { mcp } = notebook();
  attach(mcp, { engine, info, log }, options);
  return mcp;
}

/** What a host answers to one request over HTTP. */
async function post(
  handler: { fetch(request: Request, options?: { authInfo?: AuthInfo }): Promise<Response> },
  request: JsonRpcRequest,
  {
    headers = {},
    authInfo,
    signal,
  }: { headers?: Record<string, string>; authInfo?: AuthInfo; signal?: AbortSignal } = {},
): Promise<{ status: number; messages: JsonRpcMessage[] }> {
  const init = { method: 'POST', headers: { ...headersOf(request), ...headers }, body: JSON.stringify(request) };
  const response = await handler.fetch(
    new Request('http://127.0.0.1/mcp', { ...init, ...(signal && { signal }) }),
    authInfo && { authInfo },
  );
  const messages: JsonRpcMessage[] = [];
  for await (const message of messagesOf(response)) messages.push(message);
  return { status: response.status, messages };
}

const ink = (id: string | number, colour = 'blue', capabilities = TASK_CLIENT) =>
  frame(id, 'tools/call', { name: 'ink', arguments: { colour } }, capabilities);
const BLUE = { 'mcp-param-colour': 'blue' };

function client(): Client {
  const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: VERSION } } };
  return new Client({ name: 'errand-tests', version: '1.0.0' }, options);
}

/** A host over HTTP, as the SDK's documentation has it. */
async function overHttp(engine: ScriptedEngine): Promise<Transport> {
  const handler = createMcpHandler(() => attached(engine));
  const listen = toNodeHandler(handler) as RequestListener;
  const http = createServer(listen).listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(async () => {
    await handler.close();
    http.closeAllConnections();
    http.close();
  });
  return new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`));
}

/** A host over stdio, but for the pipe. */
async function overStdio(engine: ScriptedEngine): Promise<Transport> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const serving = serveStdio(() => attached(engine), { transport: far });
  onTestFinished(() => serving.close());
  return near;
}

describe.each([
  ['createMcpHandler', overHttp],
  ['serveStdio', overStdio],
])('the official client of a server hosted by %s', (_, host) => {
  async function connected(engine = inkEngine()): Promise<Client> {
    const connecting = client();
    await connecting.connect(await host(engine));
    onTestFinished(() => connecting.close());
    return connecting;
  }

  it('finds our tools beside those of the server', async () => {
    const { tools } = await (await connected()).listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'ink',
      'seal',
      'echo',
      'fail',
      'chatty',
      'wait',
      'sign',
      'whoami',
      'file',
      'shred',
    ]);
  });

  it('finds the extension declared beside the capabilities of the server', async () => {
    const capabilities = (await connected()).getServerCapabilities();
    expect(capabilities).toMatchObject({ logging: {}, prompts: { listChanged: true }, resources: { subscribe: true } });
    expect(capabilities?.extensions).toEqual({ [TASKS]: {}, 'dev.errand/tasks': {} });
  });

  it('uses the tools, prompts and resources of the server as before', async () => {
    const mcp = await connected();
    mcp.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Marie' } }));
    expect(await mcp.callTool({ name: 'echo', arguments: { say: 'as before' } })).toMatchObject({
      content: [{ text: 'as before' }],
    });
    expect(await mcp.callTool({ name: 'sign', arguments: {} })).toMatchObject({
      content: [{ text: 'signed by Marie' }],
    });
    const seen: number[] = [];
    await mcp.callTool({ name: 'chatty', arguments: {} }, { onprogress: ({ progress }) => void seen.push(progress) });
    expect(seen).toEqual([1]);
    expect((await mcp.getPrompt({ name: 'summary', arguments: { day: 'monday' } })).messages).toHaveLength(1);
    expect((await mcp.readResource({ uri: 'note://today' })).contents).toEqual([
      { uri: 'note://today', text: 'buy pencils' },
    ]);
  });

  it('takes back a call of ours', async () => {
    const engine = inkEngine();
    const mcp = await connected(engine);
    const abort = new AbortController();
    const calling = mcp.callTool({ name: 'seal', arguments: {} }, { signal: abort.signal });
    await vi.waitFor(() => expect(engine.calls).toHaveLength(1));
    abort.abort();
    await expect(calling).rejects.toThrow();
    await vi.waitFor(() => expect(engine.calls[0]!.signal.aborted).toBe(true));
  });
});

describe('a client of tasks', () => {
  it('gets a task from a tool of ours, and reads, answers and cancels it on later connections', async () => {
    const engine = inkEngine();
    const handler = createMcpHandler(() => attached(engine));
    const made = await post(handler, ink('a'), { headers: BLUE });
    expect(made).toMatchObject({
      status: 200,
      messages: [{ id: 'a', result: { resultType: 'task', taskId: 'task-1', status: 'working' } }],
    });

    engine.commit('task-1', {
      status: 'input_required',
      inputs: { ok: { state: 'open', request: { method: 'elicitation/create', params: { message: 'Ok?' } } } },
    });
    const read = await post(handler, frame('b', 'tasks/get', { taskId: 'task-1' }, TASK_CLIENT));
    expect(read).toMatchObject({
      status: 200,
      messages: [
        { id: 'b', result: { resultType: 'complete', inputRequests: { ok: { params: { message: 'Ok?' } } } } },
      ],
    });

    const inputResponses = { ok: { action: 'accept', content: {} } };
    await post(handler, frame('c', 'tasks/update', { taskId: 'task-1', inputResponses }, TASK_CLIENT));
    expect(engine.answers).toEqual([{ taskId: 'task-1', responses: inputResponses }]);

    await post(handler, frame('d', 'tasks/cancel', { taskId: 'task-1' }, TASK_CLIENT));
    const ended = await post(handler, frame('e', 'tasks/get', { taskId: 'task-1' }, TASK_CLIENT));
    expect(ended.messages).toMatchObject([{ result: { status: 'cancelled' } }]);
  });

  it('is refused under the rules of the wire: without the extension, without the header, for an unknown task', async () => {
    const handler = createMcpHandler(() => attached(inkEngine()));
    const get = (capabilities: JsonObject) => frame(1, 'tasks/get', { taskId: 'task-9' }, capabilities);
    expect(await post(handler, get(PLAIN_CLIENT))).toMatchObject({
      status: 400,
      messages: [{ error: { code: -32021 } }],
    });
    expect(await post(handler, get(TASK_CLIENT))).toMatchObject({
      status: 200,
      messages: [{ error: { code: -32602 } }],
    });
    expect(await post(handler, get(TASK_CLIENT), { headers: { 'mcp-name': 'task-8' } })).toMatchObject({
      status: 400,
      messages: [{ error: { code: -32020 } }],
    });
    expect(await post(handler, ink(1))).toMatchObject({ messages: [{ error: { code: -32020 } }] });
  });

  it('hears of its tasks where the host lets the subscription through', async () => {
    const engine = inkEngine();
    engine.commit('task-1', { principal: 'anonymous' });
    const mcp = new McpServer({ name: 'by hand', version: '1' }, { supportedProtocolVersions: [VERSION] });
    mcp.registerTool('own', {}, () => ({ content: [] }));
    attach(mcp, { engine, info, log });
    const transport = new PerRequestHTTPServerTransport({ classification: { era: 'modern', revision: VERSION } });
    await mcp.connect(transport);

    const listen = frame(
      'sub',
      'subscriptions/listen',
      { notifications: { taskIds: ['task-1', 'foreign'], toolsListChanged: true } },
      TASK_CLIENT,
    );
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers: headersOf(listen) });
    const response = await transport.handleMessage(listen, { request });
    const heard = messagesOf(response);
    const next = async () => (await heard.next()).value as JsonRpcMessage;
    expect(await next()).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: ['task-1'], toolsListChanged: true } },
    });
    expect(await next()).toMatchObject({
      method: 'notifications/tasks',
      params: { taskId: 'task-1', status: 'working' },
    });
    mcp.sendToolListChanged();
    expect(await next()).toMatchObject({
      method: 'notifications/tools/list_changed',
      params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' } },
    });
    engine.commit('task-1', { status: 'cancelled' });
    expect(await next()).toMatchObject({ method: 'notifications/tasks', params: { status: 'cancelled' } });
    await transport.close();
    await vi.waitFor(() => expect(engine.watching()).toBe(0));
  });

  it('takes back a call of ours by closing its connection', async () => {
    const engine = inkEngine();
    const abort = new AbortController();
    const sealing = post(
      createMcpHandler(() => attached(engine)),
      frame(1, 'tools/call', { name: 'seal' }, TASK_CLIENT),
      { signal: abort.signal },
    );
    await vi.waitFor(() => expect(engine.calls).toHaveLength(1));
    abort.abort();
    await sealing;
    expect(engine.calls[0]!.signal.aborted).toBe(true);
  });
});

describe('what is not ours is answered as without us', () => {
  const requests: Record<string, JsonRpcRequest> = {
    'a call': frame(1, 'tools/call', { name: 'echo', arguments: { say: 'hello' } }, TASK_CLIENT),
    'a stream': frame(1, 'tools/call', { name: 'chatty', _meta: { progressToken: 7 } }, TASK_CLIENT),
    'a question': frame(1, 'tools/call', { name: 'sign' }, TASK_CLIENT),
    'a refused question': frame(1, 'tools/call', { name: 'sign' }, {}),
    'a call of an unknown tool': frame(1, 'tools/call', { name: 'erase' }, TASK_CLIENT),
    'a call without the header that it needs': frame(
      1,
      'tools/call',
      { name: 'file', arguments: { region: 'west' } },
      TASK_CLIENT,
    ),
    'a resource with its cache hint': frame(1, 'resources/read', { uri: 'note://today' }, TASK_CLIENT),
    'an unknown method': frame(1, 'notes/burn', {}, TASK_CLIENT),
    'a method of tasks that is gone': frame(1, 'tasks/result', { taskId: 'x' }, TASK_CLIENT),
    'a subscription': frame(1, 'subscriptions/listen', { notifications: {} }, TASK_CLIENT),
    'an unknown revision': {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2031-01-01',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    },
    'no envelope': { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  };

  it.each(Object.entries(requests))('%s', async (_, request) => {
    const bare = createMcpHandler(() => notebook().mcp, { legacy: 'reject' });
    const ours = createMcpHandler(() => attached(inkEngine()), { legacy: 'reject' });
    expect(await post(ours, request)).toEqual(await post(bare, request));
  });

  it('an older client, who sees the server that it knew', async () => {
    const [near, far] = InMemoryTransport.createLinkedPair();
    const older = new Client({ name: 'older', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
    await attached(inkEngine()).connect(far);
    await older.connect(near);
    expect(older.getServerCapabilities()).not.toHaveProperty('extensions');
    expect((await older.listTools()).tools.map(({ name }) => name)).not.toContain('ink');
    expect(await older.callTool({ name: 'echo', arguments: { say: 'hello' } })).toMatchObject({
      content: [{ text: 'hello' }],
    });
    await older.close();
  });
});

describe('a task belongs to whoever the host says', () => {
  const auth = (extra: Record<string, unknown> | undefined): AuthInfo => ({
    token: 't',
    clientId: 'desk',
    scopes: [],
    ...(extra && { extra }),
  });
  const get = frame(2, 'tasks/get', { taskId: 'task-1' }, TASK_CLIENT);

  it('so that another user of the same client does not find it, nor one who says nothing', async () => {
    const handler = createMcpHandler(
      (
        (engine) => () =>
          attached(engine)
      )(inkEngine()),
    );
    await post(handler, ink(1), { headers: BLUE, authInfo: auth({ iss: 'https://id.example', sub: 'marie' }) });
    const read = async (authInfo?: AuthInfo) => (await post(handler, get, authInfo && { authInfo })).messages[0];
    expect(await read(auth({ iss: 'https://id.example', sub: 'marie' }))).toMatchObject({
      result: { taskId: 'task-1' },
    });
    const unknown = await read(auth({ iss: 'https://id.example', sub: 'pierre' }));
    expect(unknown).toMatchObject({ error: { code: -32602 } });
    expect(await read(auth({ iss: 'https://other.example', sub: 'marie' }))).toEqual(unknown);
    expect(await read()).toEqual(unknown);
  });

  it('and a token that names no subject is refused, unless the host says who it stands for', async () => {
    const engine = inkEngine();
    const refused = await post(
      createMcpHandler(() => attached(engine)),
      ink(1),
      { headers: BLUE, authInfo: auth(undefined) },
    );
    expect(refused).toMatchObject({ messages: [{ error: { code: -32603 } }] });
    expect(engine.calls).toEqual([]);

    const principal = ({ token }: AuthInfo) => ({ kind: 'user' as const, issuer: 'keys', subject: token });
    await post(
      createMcpHandler(() => attached(engine, { principal })),
      ink(1),
      { headers: BLUE, authInfo: auth(undefined) },
    );
    expect(engine.calls).toMatchObject([{ principal: { kind: 'user', issuer: 'keys', subject: 't' } }]);
  });

  it('and the server still knows who asks, where its own list of tools depends on it', async () => {
    const handler = createMcpHandler(() => {
      const mcp = attached(inkEngine());
      const inputSchema = { type: 'object' as const };
      mcp.server.setRequestHandler('tools/list', (_, { http }) => ({
        tools: [{ name: `only-for-${String(http?.authInfo?.extra?.sub)}`, inputSchema }],
      }));
      return mcp;
    });
    const listed = await post(handler, frame(1, 'tools/list', {}, TASK_CLIENT), { authInfo: auth({ sub: 'marie' }) });
    expect(listed.messages).toMatchObject([
      { result: { tools: [{ name: 'ink' }, { name: 'seal' }, { name: 'only-for-marie' }] } },
    ]);
  });
});

describe('attach refuses', () => {
  it('a server that is connected', async () => {
    const { mcp } = notebook();
    await mcp.connect(InMemoryTransport.createLinkedPair()[0]);
    expect(() => attach(mcp, { engine: inkEngine(), info, log })).toThrow(/connected already/);
  });

  it('a server that has tasks', () => {
    const mcp = attached(inkEngine());
    expect(() => attach(mcp, { engine: inkEngine(), info, log })).toThrow(/attach it once/);
  });
});
