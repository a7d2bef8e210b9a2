import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { frame, headersOf, PLAIN_CLIENT, VERSION } from '../../test/fixtures/frames.ts';
import { scriptedEngine } from '../../test/scripted-engine.ts';
import type { Loose } from '../../test/wire-schemas.ts';
import type { JsonObject } from '../json.ts';
import { fetchFace } from './fetch.ts';
import { createFront } from './front.ts';

const PREFIX = 'io.modelcontextprotocol/';
const inputSchema: JsonObject = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
  },
};

/** The official SDK's own server, with the same tool. */
const official = createMcpHandler(
  () => {
    const server = new McpServer({ name: 'official', version: '1' });
    const region = z.string().optional().meta({ 'x-mcp-header': 'Region' });
    const count = z.int().optional().meta({ 'x-mcp-header': 'Count' });
    server.registerTool('work', { inputSchema: z.object({ region, count }) }, () => ({ content: [] }));
    return server;
  },
  { legacy: 'reject' },
);

const ours = fetchFace(
  createFront({
    engine: scriptedEngine([{ name: 'work', inputSchema }]),
    info: { name: 'ours', version: '1' },
    log: pino({ level: 'silent' }),
  }),
);

interface Sent {
  readonly body: string;
  readonly headers: Record<string, string | undefined>;
  readonly method: string;
}

/** A request that is right but for what the parts change. */
function sent(
  method: string,
  params: JsonObject = {},
  wrong: Partial<Sent> & { meta?: JsonObject; frame?: object } = {},
): Sent {
  const request = frame(1, method, { ...params, ...(wrong.meta && { _meta: wrong.meta }) }, PLAIN_CLIENT);
  return {
    method: 'POST',
    body: JSON.stringify({ ...request, ...wrong.frame }),
    ...wrong,
    headers: { ...headersOf(request), ...wrong.headers },
  };
}

async function answerOf(face: (request: Request) => Promise<Response>, { method, body, headers }: Sent) {
  const given = Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined);
  const response = await face(
    new Request('http://localhost/mcp', { method, headers: given, ...(method === 'POST' && { body }) }),
  );
  const text = await response.text();
  const json: Loose =
    text === '' ? {} : JSON.parse(text.startsWith('event:') ? text.slice(text.indexOf('data: ') + 6) : text);
  return { status: response.status, code: json.error?.code, resultType: json.result?.resultType };
}

const list = (wrong: Parameters<typeof sent>[2]) => sent('tools/list', {}, wrong);
const call = (args: JsonObject, headers: Record<string, string | undefined> = {}) =>
  sent('tools/call', { name: 'work', arguments: args }, { headers });
const base64 = (encoded: string) => `=?base64?${encoded}?=`;

// What older clients send is answered in sessions here, and the official server was told to refuse it.
describe('the official server and ours agree on', () => {
  it.each<[string, Sent]>([
    ['tools/list', list({})],
    ['server/discover', sent('server/discover')],
    ['a call', call({})],
    ['arguments that are an array', sent('tools/call', { name: 'work', arguments: [] })],
    ['no arguments', sent('tools/call', { name: 'work' })],
    ['an unknown tool', sent('tools/call', { name: 'nope' })],
    ['a tool without a name', sent('tools/call', {})],
    ['an unknown method', sent('unknown/method')],
    ['a removed method', sent('ping')],
    ['logging/setLevel', sent('logging/setLevel', { level: 'info' })],
    ['tasks/list', sent('tasks/list')],
    ['tasks/result', sent('tasks/result', { taskId: 'x' })],
    ['initialize in an envelope', sent('initialize', { protocolVersion: VERSION })],
    ['text that is no JSON', list({ body: '{' })],
    ['no body', list({ body: '' })],
    ['a batch', list({ body: `[${list({}).body}]` })],
    ['an empty batch', list({ body: '[]' })],
    ['a response', list({ body: '{"jsonrpc":"2.0","id":1,"result":{}}' })],
    ['no jsonrpc', list({ frame: { jsonrpc: undefined } })],
    ['a null id', list({ frame: { id: null } })],
    ['a fractional id', list({ frame: { id: 1.5 } })],
    ['params that are an array', list({ frame: { params: [] } })],
    ['no _meta', list({ frame: { params: {} } })],
    ['no params', list({ frame: { params: undefined } })],
    ['no capabilities', list({ frame: { params: { _meta: { [`${PREFIX}protocolVersion`]: VERSION } } } })],
    ['capabilities that are none', list({ meta: { [`${PREFIX}clientCapabilities`]: 7 } })],
    ['a version that is no text', list({ meta: { [`${PREFIX}protocolVersion`]: 7 } })],
    ['client info that is none', list({ meta: { [`${PREFIX}clientInfo`]: 'me' } })],
    ['an unknown log level', list({ meta: { [`${PREFIX}logLevel`]: 'loud' } })],
    [
      'another revision',
      list({ meta: { [`${PREFIX}protocolVersion`]: 'v9' }, headers: { 'mcp-protocol-version': 'v9' } }),
    ],
    ['another version header', list({ headers: { 'mcp-protocol-version': '2025-11-25' } })],
    ['no version header', list({ headers: { 'mcp-protocol-version': undefined } })],
    ['no Mcp-Method', list({ headers: { 'mcp-method': undefined } })],
    ['another Mcp-Method', list({ headers: { 'mcp-method': 'tools/call' } })],
    ['Mcp-Method in another case', list({ headers: { 'mcp-method': 'TOOLS/LIST' } })],
    ['a padded Mcp-Method', list({ headers: { 'mcp-method': '  tools/list ' } })],
    ['a doubled Mcp-Method', list({ headers: { 'mcp-method': 'tools/list, tools/list' } })],
    ['no Mcp-Name', call({}, { 'mcp-name': undefined })],
    ['another Mcp-Name', call({}, { 'mcp-name': 'other' })],
    ['Mcp-Name in base64', call({}, { 'mcp-name': base64('d29yaw==') })],
    ['Mcp-Name in another’s base64', call({}, { 'mcp-name': base64('b3RoZXI=') })],
    ['Mcp-Name in bad base64', call({}, { 'mcp-name': base64('d29yaw') })],
    ['Mcp-Param', call({ region: 'eu', count: 42 }, { 'mcp-param-region': 'eu', 'mcp-param-count': '42.0' })],
    ['no Mcp-Param', call({ region: 'eu' })],
    ['another Mcp-Param', call({ region: 'eu' }, { 'mcp-param-region': 'us' })],
    ['Mcp-Param in base64', call({ region: 'eu' }, { 'mcp-param-region': base64('ZXU=') })],
    ['Mcp-Param in bad base64', call({ region: 'eu' }, { 'mcp-param-region': base64('ZXU') })],
    ['Mcp-Param of nothing', call({}, { 'mcp-param-region': 'eu' })],
    ['another count', call({ count: 42 }, { 'mcp-param-count': '43' })],
    ['listening for nothing at all', sent('subscriptions/listen')],
    [
      'a notification',
      list({ body: '{"jsonrpc":"2.0","method":"notifications/x"}', headers: { 'mcp-method': undefined } }),
    ],
  ])('%s', async (_, request) => {
    expect(await answerOf(ours, request)).toEqual(await answerOf((given) => official.fetch(given), request));
  });
});

describe('ours differs on purpose:', () => {
  const both = async (request: Sent) => [
    await answerOf((given) => official.fetch(given), request),
    await answerOf(ours, request),
  ];

  it('a progress token that is none breaks the envelope, not the message', async () => {
    const [theirs, mine] = await both(list({ meta: { progressToken: {} } }));
    expect([theirs!.code, mine!.code]).toEqual([-32600, -32602]);
    expect([theirs!.status, mine!.status]).toEqual([400, 400]);
  });

  it('a request that says nothing of its revision has forgotten its envelope', async () => {
    const [theirs, mine] = await both(
      list({ body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', headers: { 'mcp-protocol-version': undefined } }),
    );
    expect([theirs!.code, mine!.code]).toEqual([-32022, -32602]);
    expect([theirs!.status, mine!.status]).toEqual([400, 400]);
  });

  it('refusals of HTTP itself have a code that JSON-RPC knows, and the same status', async () => {
    const get = { ...list({}), method: 'GET' };
    for (const request of [
      get,
      list({ headers: { 'content-type': 'text/plain' } }),
      list({ headers: { 'content-type': undefined } }),
    ]) {
      const [theirs, mine] = await both(request);
      expect(mine!.status).toBe(theirs!.status);
      expect([theirs!.code, mine!.code]).toEqual([-32000, -32600]);
    }
  });
});
