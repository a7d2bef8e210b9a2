import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { frame, headersOf, messagesOf, TASK_CLIENT } from '../../test/fixtures/frames.ts';
import type { JsonObject } from '../json.ts';
import type { Principal } from '../task/principal.ts';
import { ANONYMOUS, LOCAL } from '../task/principal.ts';
import type { JsonRpcMessage, JsonRpcNotification, JsonRpcRequest, Reply } from './exchange.ts';
import { notebook } from './sdk/notebook.suite.ts';
import { sdkBackend, type SdkBackend } from './sdk.ts';

const MARIE: Principal = {
  kind: 'user',
  issuer: 'https://id.example',
  subject: 'marie',
  tenant: 'lab',
  client: 'desk',
};

interface Sent {
  readonly principal?: Principal;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** Sends a request as the front would that has it from HTTP. */
function overHttp(
  backend: SdkBackend,
  request: JsonRpcRequest,
  { principal = ANONYMOUS, headers = {}, signal }: Sent = {},
): Promise<Reply> {
  const sent = new Map(Object.entries({ ...headersOf(request), ...headers }));
  return backend.exchange({
    message: request,
    header: (name) => sent.get(name),
    principal,
    signal: signal ?? new AbortController().signal,
  });
}

function overStdio(backend: SdkBackend, request: JsonRpcRequest): Promise<Reply> {
  return backend.exchange({ message: request, principal: LOCAL, signal: new AbortController().signal });
}

/** All that a reply says, in order. */
async function said(reply: Reply): Promise<{ status: number; messages: JsonRpcMessage[] }> {
  if (reply.kind === 'response') return { status: reply.status, messages: [reply.body] };
  if (reply.kind !== 'stream') return { status: 202, messages: [] };
  const messages: JsonRpcMessage[] = [];
  for await (const message of reply.messages) messages.push(message);
  return { status: 200, messages };
}

/** What the SDK's own handler answers to the same request. */
async function oracle(
  request: JsonRpcRequest,
  headers: Record<string, string> = {},
): Promise<{ status: number; messages: JsonRpcMessage[] }> {
  const handler = createMcpHandler(() => notebook().mcp, { legacy: 'reject' });
  const init = { method: 'POST', headers: { ...headersOf(request), ...headers }, body: JSON.stringify(request) };
  const response = await handler.fetch(new Request('http://127.0.0.1/mcp', init));
  const messages: JsonRpcMessage[] = [];
  for await (const message of messagesOf(response)) messages.push(message);
  return { status: response.status, messages };
}

const call = (name: string, args: JsonObject = {}, more: JsonObject = {}): [string, JsonObject] => [
  'tools/call',
  { name, arguments: args, ...more },
];

/** The text that a tool answered with. */
function textOf(reply: Reply): string {
  if (reply.kind !== 'response' || !('result' in reply.body)) throw new Error(`No result: ${JSON.stringify(reply)}`);
  return (reply.body.result.content as [{ text: string }])[0].text;
}

describe('what is not ours is answered as the SDK answers it', () => {
  const LOGGED = { 'io.modelcontextprotocol/logLevel': 'debug' };
  const requests: Record<string, [method: string, params: JsonObject, capabilities?: JsonObject]> = {
    'a discovery': ['server/discover', {}],
    'a list of tools': ['tools/list', {}],
    'a list of prompts, with the cache hint of its server': ['prompts/list', {}],
    'a list of resources': ['resources/list', {}],
    'a list of resource templates': ['resources/templates/list', {}],
    'a resource, with its own cache hint': ['resources/read', { uri: 'note://today' }],
    'a resource by template': ['resources/read', { uri: 'note://days/monday' }],
    'an unknown resource': ['resources/read', { uri: 'note://never' }],
    'a resource that is no address': ['resources/read', { uri: 'never' }],
    'a prompt': ['prompts/get', { name: 'summary', arguments: { day: 'monday' } }],
    'a prompt without its argument': ['prompts/get', { name: 'summary', arguments: {} }],
    'an unknown prompt': ['prompts/get', { name: 'poem' }],
    'a completion': [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'summary' }, argument: { name: 'day', value: 'tue' } },
    ],
    'a call': call('echo', { say: 'again' }),
    'a call with wrong arguments': call('echo', { say: 7 }),
    'a call that throws': call('fail'),
    'a call of an unknown tool': call('erase'),
    'progress and log before a result': call('chatty', {}, { _meta: { progressToken: 'p-1', ...LOGGED } }),
    'no log where none was asked for': call('chatty'),
    'a question instead of a result': call('sign'),
    'the answer to it': call(
      'sign',
      {},
      { inputResponses: { name: { action: 'accept', content: { name: 'Marie' } } } },
    ),
    'a question to a client that cannot be asked': [...call('sign'), {}],
    'a call without the header that it needs': call('file', { region: 'west' }),
    'a method of its own': ['notes/count', { day: 'monday' }],
    'a method of its own with wrong params': ['notes/count', {}],
    'an unknown method': ['notes/burn', {}],
    'a method that this revision dropped': ['logging/setLevel', { level: 'debug' }],
  };

  const backend = sdkBackend(() => notebook().mcp);
  it.each(Object.entries(requests))('%s', async (_, [method, params, capabilities = TASK_CLIENT]) => {
    const request = frame('r-1', method, params, capabilities);
    const ours = await said(await overHttp(backend, request));
    const theirs = await oracle(request);
    if (theirs.messages.some((message) => 'error' in message && message.error.code === -32020)) {
      // The texts of the two fronts differ there.
      expect(ours).toMatchObject({ status: 400, messages: [{ id: 'r-1', error: { code: -32020 } }] });
    } else {
      expect(ours).toEqual(theirs);
    }
  });

  // The SDK drops such messages: they were answered by nobody before.
  it.each([{ notes: true }, { params: { _meta: { 'io.modelcontextprotocol/related-task': 5 } } }])(
    'a request with members that the SDK does not take: %j',
    async (more: { params?: JsonObject }) => {
      const request = { ...frame('r-1', 'prompts/list', more.params ?? {}, TASK_CLIENT), ...(more.params ? {} : more) };
      const theirs = await oracle(request);
      expect(theirs).toMatchObject({ status: 400, messages: [{ id: 'r-1', error: { code: -32600 } }] });
      const ours = await said(await overHttp(backend, request));
      expect(ours).toMatchObject({ status: 400, messages: [{ id: 'r-1', error: { code: -32600 } }] });
    },
  );

  it('a call with the header that it needs', async () => {
    const request = frame(1, ...call('file', { region: 'west' }), TASK_CLIENT);
    const headers = { 'mcp-param-region': 'west' };
    expect(await said(await overHttp(backend, request, { headers }))).toEqual(await oracle(request, headers));
    expect(textOf(await overStdio(backend, request))).toBe('filed in west');
  });
});

describe('one server serves many clients', () => {
  it('answers two clients who use the same id at once, each with its own result', async () => {
    const { mcp } = notebook();
    const backend = sdkBackend(() => mcp);
    const says = Array.from({ length: 20 }, (_, n) => `line ${n}`);
    const replies = await Promise.all(
      says.map((say) => overHttp(backend, frame('same', ...call('echo', { say }), TASK_CLIENT))),
    );
    expect(replies.map(textOf)).toEqual(says);
    expect(replies.every((reply) => reply.kind === 'response' && reply.body.id === 'same')).toBe(true);
  });

  it('takes back the request of one client and not that of another with the same id', async () => {
    const { mcp, waits } = notebook();
    const backend = sdkBackend(() => mcp);
    const [first, second] = [new AbortController(), new AbortController()];
    const request = frame(7, ...call('wait'), TASK_CLIENT);
    const firstReply = overHttp(backend, request, { signal: first.signal });
    const secondReply = overHttp(backend, request, { signal: second.signal });
    await vi.waitFor(() => expect(waits.running).toBe(2));
    first.abort();
    expect(await firstReply).toEqual({ kind: 'accepted' });
    await vi.waitFor(() => expect(waits.aborted).toBe(1));
    second.abort();
    expect(await secondReply).toEqual({ kind: 'accepted' });
    await vi.waitFor(() => expect(waits.aborted).toBe(2));
  });

  it('makes and connects its server once', async () => {
    const make = vi.fn(() => notebook().mcp);
    const backend = sdkBackend(make);
    await Promise.all([
      backend.start(),
      overHttp(backend, frame(1, 'tools/list', {}, {})),
      overHttp(backend, frame(2, 'tools/list', {}, {})),
    ]);
    expect(make).toHaveBeenCalledTimes(1);
  });

  it('serves on after its owner closed the server, and ends what was under way', async () => {
    const { mcp, waits } = notebook();
    const backend = sdkBackend(() => mcp);
    const waiting = overHttp(backend, frame(1, ...call('wait'), TASK_CLIENT));
    await vi.waitFor(() => expect(waits.running).toBe(1));
    await mcp.close();
    expect(await waiting).toMatchObject({ kind: 'response', body: { id: 1, error: { code: -32603 } } });
    expect(textOf(await overHttp(backend, frame(2, ...call('echo', { say: 'still here' }), TASK_CLIENT)))).toBe(
      'still here',
    );
  });
});

describe('handlers learn who calls them', () => {
  const backend = sdkBackend(() => notebook().mcp);
  const request = frame(1, ...call('whoami'), TASK_CLIENT);
  const told = async (reply: Promise<Reply>) => JSON.parse(textOf(await reply)) as unknown;

  it('an authenticated caller with its token, and the headers of its request', async () => {
    const headers = { authorization: 'Bearer abc.def', 'accept-language': 'nl' };
    expect(await told(overHttp(backend, request, { principal: MARIE, headers }))).toEqual({
      auth: {
        token: 'abc.def',
        clientId: 'desk',
        scopes: [],
        extra: { iss: 'https://id.example', sub: 'marie', tenant: 'lab' },
      },
      language: 'nl',
    });
  });

  it('nobody, where nobody said who they are', async () => {
    expect(await told(overHttp(backend, request))).toEqual({ auth: null, language: null });
    expect(await told(overStdio(backend, request))).toEqual({ auth: null, language: null });
  });

  it('and a tool that asks for scopes is refused to a caller whose scopes are not known', async () => {
    const shred = frame(1, ...call('shred'), TASK_CLIENT);
    expect(await overHttp(backend, shred, { principal: MARIE })).toMatchObject({
      kind: 'response',
      status: 403,
      body: { error: { data: { scopes: ['notes:shred'] } } },
    });
  });
});

describe('subscriptions hear of changes', () => {
  const all = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['note://today'],
  };

  it('of each kind that was asked for, and of no other', async () => {
    const { mcp } = notebook();
    const backend = sdkBackend(() => mcp);
    await backend.start();
    const heard: JsonRpcNotification[] = [];
    const heardOfTools: JsonRpcNotification[] = [];
    const watch = backend.watch(all, (notification) => heard.push(notification));
    backend.watch({ toolsListChanged: true }, (notification) => heardOfTools.push(notification));
    expect(watch.granted).toEqual(all);

    mcp.sendToolListChanged();
    mcp.sendPromptListChanged();
    mcp.sendResourceListChanged();
    await mcp.server.sendResourceUpdated({ uri: 'note://today' });
    await mcp.server.sendResourceUpdated({ uri: 'note://days/monday' });
    await vi.waitFor(() => expect(heard).toHaveLength(4));
    expect(heard.map(({ method }) => method.slice('notifications/'.length))).toEqual([
      'tools/list_changed',
      'prompts/list_changed',
      'resources/list_changed',
      'resources/updated',
    ]);
    expect(heard[3]!.params).toEqual({ uri: 'note://today' });
    expect(heardOfTools).toHaveLength(1);

    watch.stop();
    mcp.sendToolListChanged();
    await vi.waitFor(() => expect(heardOfTools).toHaveLength(2));
    expect(heard).toHaveLength(4);
  });

  it('of nothing that the server does not announce', () => {
    const backend = sdkBackend(
      () => new McpServer({ name: 'bare', version: '1' }, { capabilities: { tools: { listChanged: false } } }),
    );
    expect(backend.watch(all, () => {}).granted).toEqual({});
  });
});

describe('a server that cannot be served says why', () => {
  it('one that is connected already', async () => {
    const { mcp } = notebook();
    const backend = sdkBackend(() => mcp);
    await backend.start();
    await expect(sdkBackend(() => mcp).start()).rejects.toThrow(/connected already/);
  });

  it('one of an SDK that is too old', async () => {
    vi.doMock('@modelcontextprotocol/server', () => ({
      createMcpHandler: () => ({ fetch: async () => new Response() }),
    }));
    try {
      await expect(sdkBackend(() => notebook().mcp).start()).rejects.toThrow(/2\.4\.0 or newer/);
    } finally {
      vi.doUnmock('@modelcontextprotocol/server');
    }
  });

  it('one whose SDK is not installed', async () => {
    vi.doMock('@modelcontextprotocol/server', () => {
      throw new Error('not installed');
    });
    try {
      await expect(sdkBackend(() => notebook().mcp).start()).rejects.toThrow(
        /npm install @modelcontextprotocol\/server/,
      );
    } finally {
      vi.doUnmock('@modelcontextprotocol/server');
    }
  });

  it('and a request to it is an error, not a hang', async () => {
    const backend = sdkBackend(() => {
      throw new Error('no notebook');
    });
    expect(await overHttp(backend, frame(1, 'tools/list', {}, {}))).toMatchObject({
      kind: 'response',
      body: { id: 1, error: { code: -32603 } },
    });
  });
});

it('whoever has no SDK server needs no SDK', async () => {
  vi.doMock('@modelcontextprotocol/server', () => {
    throw new Error('not installed');
  });
  vi.resetModules();
  try {
    const { createErrand } = await import('../index.ts');
    const errand = createErrand({ name: 'alone', version: '1' });
    await errand.start();
    await errand.close();
  } finally {
    vi.doUnmock('@modelcontextprotocol/server');
  }
});

it('a handler that sends a request to the client fails at once, since this revision has none', async () => {
  const mcp = new McpServer({ name: 'old', version: '1' });
  mcp.registerTool('push', { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
    await mcpReq.send({ method: 'notes/ask', params: {} }, z.object({}));
    return { content: [] };
  });
  const reply = await overHttp(
    sdkBackend(() => mcp),
    frame(1, ...call('push'), TASK_CLIENT),
  );
  expect(textOf(reply)).toMatch(/a server sends no requests/);
});
