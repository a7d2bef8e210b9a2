import { describe, expect, it } from 'vitest';
import { frame, headersOf, PLAIN_CLIENT, TASK_CLIENT } from '../../../test/fixtures/frames.ts';
import type { HeaderReader } from '../../dialect.ts';
import type { ListedTool } from '../../engine/engine.ts';
import type { JsonObject } from '../../json.ts';
import type { JsonRpcRequest } from '../../jsonrpc.ts';
import { createDecode } from './decode.ts';

const PREFIX = 'io.modelcontextprotocol/';
const work: ListedTool = {
  name: 'work',
  inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
};

const engine = { tools: () => [work], hasTool: (name: string) => name === 'work' };
const info = { name: 'test', version: '1.0.0' };
const alone = createDecode({ engine, info, backed: false });
const backed = createDecode({ engine, info, backed: true });

interface Wrong {
  readonly capabilities?: JsonObject;
  readonly meta?: JsonObject;
  readonly headers?: Record<string, string | undefined>;
  readonly decode?: typeof alone;
}

function decode(method: string, params: JsonObject = {}, wrong: Wrong = {}) {
  const request = frame(
    1,
    method,
    { ...params, ...(wrong.meta && { _meta: wrong.meta }) },
    wrong.capabilities ?? TASK_CLIENT,
  );
  return decodeFrame(request, wrong);
}

function decodeFrame(request: JsonRpcRequest, { headers, decode = alone }: Wrong = {}) {
  const all: Record<string, string | undefined> = { ...headersOf(request), ...headers };
  const header: HeaderReader = (name) => all[name];
  return decode(request, header);
}

const error = (code: number, status: number, rest: object = {}) =>
  expect.objectContaining({ code, status, ...rest }) as Error;

const ENVELOPE = error(-32602, 400);
const PARAMS = error(-32602, 200);
const HEADER = error(-32020, 400);
const NO_METHOD = error(-32601, 404);
const NO_EXTENSION = error(-32021, 400, { data: { requiredCapabilities: { extensions: { [`${PREFIX}tasks`]: {} } } } });

describe('the envelope', () => {
  it('is required, under HTTP 400 where every other -32602 is a 200', () => {
    const bare = { jsonrpc: '2.0', id: 1, method: 'tools/list' } as const;
    expect(() => decodeFrame(bare)).toThrow(ENVELOPE);
    expect(() => decodeFrame({ ...bare, params: {} })).toThrow(ENVELOPE);
    expect(() => decodeFrame({ ...bare, params: { _meta: 7 } })).toThrow(ENVELOPE);
    expect(() => decodeFrame({ ...bare, params: { _meta: {} } })).toThrow(ENVELOPE);
  });

  it.each([
    ['protocolVersion', 7],
    ['protocolVersion', null],
    ['clientCapabilities', []],
    ['clientCapabilities', null],
    ['clientInfo', 'me'],
    ['clientInfo', { name: 'me' }],
    ['logLevel', 'loud'],
  ])('with a %s of %j is malformed', (key, value) => {
    expect(() => decode('tools/list', {}, { meta: { [PREFIX + key]: value } })).toThrow(ENVELOPE);
  });

  it('with a progress token that is no text or integer is malformed', () => {
    expect(() => decode('tools/list', {}, { meta: { progressToken: 1.5 } })).toThrow(ENVELOPE);
    expect(() => decode('tools/list', {}, { meta: { progressToken: {} } })).toThrow(ENVELOPE);
    expect(decode('tools/list', {}, { meta: { progressToken: 'p', traceparent: '00-…' } })).toMatchObject({
      kind: 'list',
    });
  });

  it('need not say who the client is', () => {
    const request = frame(1, 'tools/list', {}, {});
    const { [`${PREFIX}clientInfo`]: _, ...meta } = request.params!._meta as JsonObject;
    expect(decodeFrame({ ...request, params: { _meta: meta } })).toMatchObject({ kind: 'list' });
  });

  it('of another revision is -32022, which names ours (N-2)', () => {
    for (const requested of ['v999.0.0', '2025-11-25', 'DRAFT-2026-v1', '2026-06-30']) {
      const headers = { 'mcp-protocol-version': requested };
      const supported = ['2026-07-28'];
      expect(() => decode('tools/list', {}, { meta: { [`${PREFIX}protocolVersion`]: requested }, headers })).toThrow(
        error(-32022, 400, { data: { supported, requested } }),
      );
    }
  });

  it('is what clients of other revisions do not send: they are told ours', () => {
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' } as const;
    expect(() => decodeFrame(list, { headers: { 'mcp-protocol-version': '2025-06-18' } })).toThrow(
      error(-32022, 400, { data: { supported: ['2026-07-28'], requested: '2025-06-18' } }),
    );
  });
});

describe('the headers', () => {
  it.each([undefined, '2025-11-25', '2026-07-28, 2026-07-28'])('with MCP-Protocol-Version %s do not fit', (value) => {
    expect(() => decode('tools/list', {}, { headers: { 'mcp-protocol-version': value } })).toThrow(HEADER);
  });

  it.each([undefined, 'tools/call', 'Tools/List'])('with Mcp-Method %s do not fit tools/list', (value) => {
    expect(() => decode('tools/list', {}, { headers: { 'mcp-method': value } })).toThrow(HEADER);
  });

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    'of %s need an Mcp-Name that is the task id (E-15, CASES 29)',
    (method) => {
      const params = { taskId: 'task-1', inputResponses: {} };
      expect(() => decode(method, params, { headers: { 'mcp-name': undefined } })).toThrow(HEADER);
      expect(() => decode(method, params, { headers: { 'mcp-name': 'task-2' } })).toThrow(HEADER);
      expect(decode(method, params)).toMatchObject({ taskId: 'task-1' });
    },
  );

  it('repeat the arguments of our tools that say so', () => {
    const params = { name: 'work', arguments: { region: 'eu' } };
    expect(() => decode('tools/call', params)).toThrow(HEADER);
    expect(() => decode('tools/call', params, { headers: { 'mcp-param-region': 'us' } })).toThrow(HEADER);
    expect(decode('tools/call', params, { headers: { 'mcp-param-region': 'eu' } })).toMatchObject({ kind: 'call' });
  });

  it('are not asked for where there are none', () => {
    expect(alone(frame(1, 'tasks/get', { taskId: 'task-1' }, TASK_CLIENT))).toEqual({
      kind: 'read',
      taskId: 'task-1',
      extended: false,
    });
    expect(alone(frame(1, 'tools/call', { name: 'work', arguments: { region: 'eu' } }, {}))).toMatchObject({
      kind: 'call',
    });
  });
});

describe('the order of the checks', () => {
  // Each request breaks one more rule than the one after it; the first rule it breaks is the one it hears of.
  const broken = { 'mcp-protocol-version': '2025-11-25', 'mcp-method': 'x', 'mcp-name': 'x' };
  const version = { [`${PREFIX}protocolVersion`]: 'v9' };

  it('is envelope, version header, version, Mcp-Method, method, Mcp-Name, capability, params', () => {
    const params = { taskId: 'task-1' };
    const none = { capabilities: {} };
    expect(() =>
      decode('tasks/nope', params, { meta: { ...version, [`${PREFIX}clientCapabilities`]: 7 }, headers: broken }),
    ).toThrow(ENVELOPE);
    expect(() => decode('tasks/nope', params, { ...none, meta: version, headers: broken })).toThrow(HEADER);
    expect(() =>
      decode('tasks/nope', params, { ...none, meta: version, headers: { ...broken, 'mcp-protocol-version': 'v9' } }),
    ).toThrow(error(-32022, 400));
    expect(() => decode('tasks/nope', params, { ...none, headers: { 'mcp-method': 'x', 'mcp-name': 'x' } })).toThrow(
      HEADER,
    );
    expect(() => decode('tasks/nope', params, { ...none, headers: { 'mcp-name': 'x' } })).toThrow(NO_METHOD);
    expect(() => decode('tasks/update', params, { ...none, headers: { 'mcp-name': 'x' } })).toThrow(HEADER);
    expect(() => decode('tasks/update', params, none)).toThrow(NO_EXTENSION);
    expect(() => decode('tasks/update', params)).toThrow(PARAMS);
  });
});

describe('the methods', () => {
  it.each([
    'tasks/result',
    'tasks/list',
    'tasks/continue',
    'tasks/',
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
  ])('%s does not exist, whatever a backend may know (E-19, E-20)', (method) => {
    expect(() => decode(method, { taskId: 'task-1' })).toThrow(NO_METHOD);
    expect(() => decode(method, { taskId: 'task-1' }, { decode: backed })).toThrow(NO_METHOD);
  });

  it('that are not ours are the backend’s, or nobody’s', () => {
    for (const method of ['prompts/get', 'resources/list', 'unknown/method', 'constructor']) {
      expect(() => decode(method)).toThrow(NO_METHOD);
      expect(decode(method, {}, { decode: backed })).toEqual({ kind: 'foreign' });
    }
  });

  it('of a backend keep the rules of the headers', () => {
    const wrong = { decode: backed, headers: { 'mcp-name': undefined } };
    expect(() => decode('prompts/get', { name: 'p' }, wrong)).toThrow(HEADER);
    expect(() => decode('resources/read', { uri: 'u' }, wrong)).toThrow(HEADER);
    expect(() => decode('prompts/get', { name: 'p' }, { ...wrong, decode: alone })).toThrow(NO_METHOD);
  });
});

describe('tasks/get, tasks/update and tasks/cancel', () => {
  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s needs the extension, declared by this very request (E-11, CASES 13)',
    (method) => {
      const legacy = { tasks: { requests: { tools: { call: {} } } } };
      for (const capabilities of [
        {},
        PLAIN_CLIENT,
        legacy,
        { extensions: {} },
        { extensions: { [`${PREFIX}tasks`]: true } },
      ]) {
        expect(() => decode(method, { taskId: 'x' }, { capabilities })).toThrow(NO_EXTENSION);
      }
    },
  );

  it('need an id that is a text', () => {
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      expect(() => decode(method, { taskId: 7, inputResponses: {} })).toThrow(PARAMS);
      expect(() => decode(method, { inputResponses: {} })).toThrow(PARAMS);
    }
  });

  it('tasks/update needs an object of answers, and judges none of them', () => {
    for (const inputResponses of [undefined, null, [], 'yes']) {
      expect(() =>
        decode('tasks/update', { taskId: 'x', ...(inputResponses === undefined ? {} : { inputResponses }) }),
      ).toThrow(PARAMS);
    }
    const inputResponses = { unknown: { ignored: true }, odd: 7 };
    expect(decode('tasks/update', { taskId: 'x', inputResponses })).toEqual({
      kind: 'answer',
      taskId: 'x',
      responses: inputResponses,
    });
  });
});

describe('tools/call', () => {
  const call = (params: JsonObject, capabilities: JsonObject = {}) => {
    const command = decode('tools/call', { name: 'work', ...params }, { capabilities });
    return command.kind === 'call' ? command.call : undefined;
  };

  it('has no arguments where it names none', () => {
    expect(call({})).toEqual({ tool: 'work', arguments: {}, takesTasks: false, capabilities: {} });
  });

  it.each([{ arguments: null }, { arguments: [] }, { arguments: 'x' }, { name: 7 }, { name: null }])(
    'with %j is -32602 in-band',
    (params) => {
      expect(() => call(params)).toThrow(PARAMS);
    },
  );

  it.each([
    { inputResponses: null },
    { inputResponses: [] },
    { inputResponses: { user_name: 12345 } },
    { requestState: null },
    { requestState: {} },
  ])('with %j is -32602 in-band', (params) => {
    expect(() => call(params)).toThrow(PARAMS);
  });

  it('takes answers and state back', () => {
    const retry = { inputResponses: { name: { action: 'accept', content: { name: 'A' } } }, requestState: 's' };
    expect(call(retry)).toMatchObject(retry);
  });

  it('ignores the task that an older client asks for (E-19, CASES 16)', () => {
    expect(call({ task: { ttl: 60_000 } })).toEqual(call({}));
  });

  it('has its progress told where its sender takes no tasks, and under the very token (CASES 25)', () => {
    for (const progressToken of ['p', 0, '7', 7]) {
      const command = (capabilities: JsonObject) =>
        decode('tools/call', { name: 'work' }, { capabilities, meta: { progressToken } });
      expect(command({})).toMatchObject({ kind: 'call', progressToken });
      expect(command({ extensions: { [`${PREFIX}tasks`]: {} } })).not.toHaveProperty('progressToken');
    }
    expect(decode('tools/call', { name: 'work' }, { capabilities: {} })).not.toHaveProperty('progressToken');
  });

  it('takes tasks only where this request says so (E-2)', () => {
    expect(call({}, { extensions: { [`${PREFIX}tasks`]: {} } })).toMatchObject({ takesTasks: true });
    expect(call({}, { tasks: {} })).toMatchObject({ takesTasks: false });
  });

  it.each<[JsonObject, object]>([
    [{ elicitation: {} }, { elicitation: { form: true, url: false } }],
    [{ elicitation: { form: {} } }, { elicitation: { form: true, url: false } }],
    [{ elicitation: { url: {} } }, { elicitation: { form: false, url: true } }],
    [{ elicitation: { form: {}, url: {} } }, { elicitation: { form: true, url: true } }],
    [{ sampling: {} }, { sampling: { tools: false, context: false } }],
    [{ sampling: { tools: {}, context: {} } }, { sampling: { tools: true, context: true } }],
    [{ roots: { listChanged: true } }, { roots: true }],
    [{ elicitation: true, sampling: null, roots: [] }, {}],
  ])('of a client with %j may ask it %j (F-1)', (declared, capabilities) => {
    expect(call({}, declared)?.capabilities).toEqual(capabilities);
  });
});

describe('subscriptions/listen', () => {
  it('needs a filter', () => {
    for (const params of [{}, { notifications: null }, { notifications: [] }]) {
      expect(() => decode('subscriptions/listen', params)).toThrow(PARAMS);
    }
  });

  it('for tasks needs the extension (E-11)', () => {
    const notifications = { taskIds: ['a'], toolsListChanged: true };
    expect(() => decode('subscriptions/listen', { notifications }, { capabilities: PLAIN_CLIENT })).toThrow(
      NO_EXTENSION,
    );
    expect(
      decode('subscriptions/listen', { notifications: { toolsListChanged: true } }, { capabilities: PLAIN_CLIENT }),
    ).toEqual({
      kind: 'listen',
      taskIds: [],
      changes: { toolsListChanged: true },
      extended: false,
    });
  });

  it.each([{ taskIds: 'a' }, { taskIds: [7] }, { toolsListChanged: 1 }, { resourceSubscriptions: 'u' }])(
    'refuses the filter %j',
    (notifications) => {
      expect(() => decode('subscriptions/listen', { notifications: notifications as JsonObject })).toThrow(PARAMS);
    },
  );

  it('names each task once, and a thousand at most', () => {
    expect(decode('subscriptions/listen', { notifications: { taskIds: ['a', 'b', 'a'] } })).toMatchObject({
      taskIds: ['a', 'b'],
    });
    const taskIds = Array.from({ length: 1001 }, (_, n) => `task-${n}`);
    expect(() => decode('subscriptions/listen', { notifications: { taskIds } })).toThrow(PARAMS);
  });
});

describe('tools/list', () => {
  it('is for clients that take tasks, or for those that do not (E-2)', () => {
    const extensions = { [`${PREFIX}tasks`]: {} };
    expect(decode('tools/list', {}, { capabilities: { extensions } })).toEqual({ kind: 'list', takesTasks: true });
    expect(decode('tools/list', {}, { capabilities: {} })).toEqual({ kind: 'list', takesTasks: false });
  });

  it('has one page of ours, so that a cursor is the backend’s', () => {
    expect(() => decode('tools/list', { cursor: 'x' })).toThrow(PARAMS);
    expect(() => decode('tools/list', { cursor: 7 }, { decode: backed })).toThrow(PARAMS);
    expect(decode('tools/list', { cursor: 'x' }, { decode: backed })).toMatchObject({ kind: 'list', cursor: 'x' });
  });
});
