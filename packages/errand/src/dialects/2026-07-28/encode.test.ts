import { describe, expect, it } from 'vitest';
import { taskOf } from '../../../test/scripted-engine.ts';
import { assertValidFrame } from '../../../test/wire-schemas.ts';
import type { CallAnswer, SeenTask } from '../../engine/engine.ts';
import type { JsonObject } from '../../json.ts';
import type { Input } from '../../task/input.ts';
import type { Task } from '../../task/task.ts';
import { createEncode } from './encode.ts';
import { createListenFrames } from './listen.ts';

const info = { name: 'test', version: '1.0.0', title: 'Test', instructions: 'Call work.' };
const served = { engine: { tools: () => [], hasTool: (name: string) => name === 'work' }, info, backed: true };
const encode = createEncode(served);
const frames = createListenFrames(served);
const _meta = { 'io.modelcontextprotocol/serverInfo': { name: 'test', version: '1.0.0', title: 'Test' } };
const EXTENSIONS = { 'io.modelcontextprotocol/tasks': {}, 'dev.errand/tasks': {} };
const RELATED = 'io.modelcontextprotocol/related-task';

const checked = (method: string, result: JsonObject): JsonObject => {
  assertValidFrame({ jsonrpc: '2.0', id: 1, result }, { method });
  return result;
};
const read = (rest: Partial<Task> = {}) => checked('tasks/get', encode.read(taskOf('t', rest), false));
const called = (answer: CallAnswer) => checked('tools/call', encode.called(answer, false));

const question = (message: string): Input => ({
  request: { method: 'elicitation/create', params: { message, requestedSchema: { type: 'object', properties: {} } } },
  state: 'open',
});

const PLAIN = {
  taskId: 't',
  createdAt: '2026-07-28T12:00:00.000Z',
  lastUpdatedAt: '2026-07-28T12:00:01.000Z',
  ttlMs: 172_800_000,
  pollIntervalMs: 1000,
};

describe('tasks/get', () => {
  it('of a working task shows how it stands and nothing else (E-5)', () => {
    expect(read()).toEqual({ resultType: 'complete', status: 'working', ...PLAIN, _meta });
    expect(read({ statusMessage: 'half way' })).toMatchObject({ status: 'working', statusMessage: 'half way' });
  });

  it('counts ttlMs from creation, however long the task has lived (CASES 10)', () => {
    expect(read({ status: 'cancelled', lastUpdatedAt: PLAIN_END })).toMatchObject({ ttlMs: 172_800_000 });
  });

  it('shows all open questions, and none that is answered or withdrawn (E-6)', () => {
    const inputs = {
      a: question('A?'),
      gone: { ...question('Gone?'), state: 'withdrawn' as const },
      done: { ...question('Done?'), state: 'answered' as const, response: { action: 'decline' } },
      roots: { request: { method: 'roots/list' as const, params: {} }, state: 'open' as const },
      ask: {
        request: { method: 'sampling/createMessage' as const, params: { maxTokens: 5, messages: [] } },
        state: 'open' as const,
      },
    };
    const task = read({ status: 'input_required', inputs });
    expect(task.inputRequests).toEqual({ a: inputs.a.request, roots: inputs.roots.request, ask: inputs.ask.request });
  });

  it('carries a question under any key', () => {
    const inputs = JSON.parse(`{"__proto__": ${JSON.stringify(question('?'))}}`) as Record<string, Input>;
    expect(Object.keys(read({ status: 'input_required', inputs }).inputRequests as object)).toEqual(['__proto__']);
  });

  it('has no questions unless the task waits for them', () => {
    expect(read({ status: 'working', inputs: { a: question('A?') } })).not.toHaveProperty('inputRequests');
  });

  it('of a completed task carries exactly what the tool answered, marked complete (E-6)', () => {
    const result = {
      content: [{ type: 'text', text: 'done' }],
      structuredContent: { parts: [1, 2] },
      _meta: { 'example.com/x': 1 },
    };
    expect(read({ status: 'completed', outcome: { kind: 'result', result } }).result).toEqual({
      ...result,
      resultType: 'complete',
    });
  });

  it('of a task whose tool failed is completed, with isError inside (E-12, CASES 11)', () => {
    const outcome = { kind: 'result', result: { content: [], isError: true } } as const;
    const completed = { status: 'completed', result: { content: [], isError: true, resultType: 'complete' } };
    expect(read({ status: 'completed', outcome })).toMatchObject(completed);
    // However the engine calls it: that is up to the asker's dialect.
    expect(read({ status: 'failed', outcome })).toMatchObject(completed);
  });

  it('never shows a related-task mark inside of a result (E-18)', () => {
    const result = { content: [], _meta: { [RELATED]: { taskId: 'x' }, kept: 1 } };
    expect(read({ status: 'completed', outcome: { kind: 'result', result } }).result).toMatchObject({
      _meta: { kept: 1 },
    });
    expect(called({ kind: 'result', result })._meta).not.toHaveProperty(RELATED);
  });

  it('of a failed task carries the JSON-RPC error as it was, and its message where no other says more (E-12)', () => {
    const error = { code: -31010, message: 'too late', data: { after: 5 } };
    const outcome = { kind: 'error', error } as const;
    expect(read({ status: 'failed', outcome })).toEqual({
      resultType: 'complete',
      status: 'failed',
      statusMessage: 'too late',
      ...PLAIN,
      error,
      _meta,
    });
    expect(read({ status: 'failed', outcome, statusMessage: 'the deadline passed' })).toMatchObject({
      statusMessage: 'the deadline passed',
    });
  });

  it('of a cancelled task shows neither result nor error nor questions', () => {
    const late = { kind: 'result', result: { content: [] } } as const;
    expect(read({ status: 'cancelled', inputs: { a: question('A?') }, outcome: late })).toEqual({
      resultType: 'complete',
      status: 'cancelled',
      ...PLAIN,
      _meta,
    });
  });
});

const PLAIN_END = Date.UTC(2026, 6, 29, 18);

describe('tools/call', () => {
  it('that made a task is flat and bare, whatever its status (E-4, E-18)', () => {
    const bare = { resultType: 'task', ...PLAIN, _meta };
    expect(called({ kind: 'task', task: taskOf('t') })).toEqual({ ...bare, status: 'working' });
    const asks = taskOf('t', { status: 'input_required', inputs: { a: question('A?') } });
    expect(called({ kind: 'task', task: asks })).toEqual({ ...bare, status: 'input_required' });
    const done = taskOf('t', { status: 'completed', outcome: { kind: 'result', result: { content: [] } } });
    expect(called({ kind: 'task', task: done })).toEqual({ ...bare, status: 'completed' });
  });

  it('that is done is complete, whatever the tool calls its result', () => {
    const result = { content: [{ type: 'text', text: 'hi' }], resultType: 'task', _meta: { a: 1 } };
    expect(called({ kind: 'result', result })).toEqual({
      content: [{ type: 'text', text: 'hi' }],
      resultType: 'complete',
      _meta: { a: 1, ..._meta },
    });
  });

  it('that must be asked again names the questions and the state', () => {
    const requests = { name: question('Who?').request };
    expect(called({ kind: 'input', requests, requestState: 'sealed' })).toEqual({
      resultType: 'input_required',
      inputRequests: requests,
      requestState: 'sealed',
      _meta,
    });
  });
});

describe('acknowledgements', () => {
  it('of tasks/update and tasks/cancel are empty (E-8, E-9)', () => {
    for (const ack of [encode.answered(taskOf('t')), encode.cancelled(taskOf('t'))]) {
      expect(ack).toEqual({ resultType: 'complete', _meta });
    }
  });
});

describe('what a client reads that does not know our extension', () => {
  it('is progress in words, unless the task says something itself (CASES 25)', () => {
    expect(read({ progress: { done: 3, total: 10 } })).toMatchObject({ statusMessage: '3 of 10' });
    expect(read({ progress: { done: 3 } })).toMatchObject({ statusMessage: '3 done' });
    expect(read({ progress: { done: 3 }, statusMessage: 'baking' })).toMatchObject({ statusMessage: 'baking' });
    expect(read({ progress: { done: 3 } })['_meta']).toEqual(_meta);
  });

  it('is a paused task that works, with a message', () => {
    const paused = read({ paused: true, statusMessage: 'paused: lunch' });
    expect(paused).toMatchObject({ status: 'working', statusMessage: 'paused: lunch' });
    expect(paused['_meta']).toEqual(_meta);
  });

  it('is a root that asks what waits below it, under the path to it, beside what it asks itself (S-13, S-15)', () => {
    const parent = { id: 't', root: 't', key: 'chunk-3', path: 'chunk-3' };
    const below = [taskOf('child', { status: 'input_required', parent, inputs: { approve: question('Sure?') } })];
    const root: SeenTask = { ...taskOf('t', { subtasks: 1 }), below };
    const asking = checked('tasks/get', encode.read(root, false));
    const theirs = { 'chunk-3/approve': question('Sure?').request };
    expect(asking).toMatchObject({ status: 'input_required', inputRequests: theirs });
    const both: SeenTask = { ...root, status: 'input_required', inputs: { own: question('You?') } };
    expect(checked('tasks/get', encode.read(both, false))['inputRequests']).toEqual({
      own: question('You?').request,
      ...theirs,
    });
    const working = checked('tasks/get', encode.read({ ...root, below: [] }, false));
    expect(working).toMatchObject({ status: 'working' });
    expect(working).not.toHaveProperty('inputRequests');
  });
});

describe('what a client reads that knows our extension', () => {
  const parent = { id: 'p', root: 'r', key: 'k', path: 'k' };
  const task: SeenTask = {
    ...taskOf('t', { paused: true, progress: { done: 3, total: 10 }, parent, subtasks: 2 }),
    children: ['a', 'b'],
  };
  const extension = {
    'dev.errand/tasks': {
      paused: true,
      progress: 3,
      progressTotal: 10,
      parentTaskId: 'p',
      childTaskIds: ['a', 'b'],
    },
  };

  it('is where a task stands in the graph and how far it is, beside what others read', () => {
    const got = checked('tasks/get', encode.read(task, true));
    expect(got).toEqual({ resultType: 'complete', status: 'working', ...PLAIN, _meta: { ...extension, ..._meta } });
  });

  it('is the same where the task was just made, and where its changes are told', () => {
    const made = checked('tools/call', encode.called({ kind: 'task', task }, true));
    expect(made).toEqual({ resultType: 'task', status: 'working', ...PLAIN, _meta: { ...extension, ..._meta } });
    const told = frames.task('sub', task, true);
    assertValidFrame(told, { method: 'subscriptions/listen' });
    expect(told.params!['_meta']).toEqual({ ...extension, 'io.modelcontextprotocol/subscriptionId': 'sub' });
  });

  it('is nothing where there is nothing to say', () => {
    expect(encode.read(taskOf('t'), true)['_meta']).toEqual({ 'dev.errand/tasks': {}, ..._meta });
  });
});

describe('notifications/tasks', () => {
  it.each<Partial<Task>>([
    {},
    { status: 'input_required', inputs: { a: question('A?') } },
    { status: 'completed', outcome: { kind: 'result', result: { content: [], isError: true } } },
    { status: 'failed', outcome: { kind: 'error', error: { code: -32603, message: 'no' } } },
    { status: 'cancelled' },
  ])('says of %j what tasks/get says (E-13, T-9)', (rest) => {
    const { resultType: _, _meta: __, ...got } = read(rest);
    const notified = frames.task('sub', taskOf('t', rest), false);
    assertValidFrame(notified, { method: 'subscriptions/listen' });
    const { _meta: meta, ...told } = notified.params!;
    expect(told).toEqual(got);
    expect(meta).toEqual({ 'io.modelcontextprotocol/subscriptionId': 'sub' });
  });
});

describe('server/discover', () => {
  const discovered = (backend?: JsonObject) => checked('server/discover', encode.discovered(backend));

  it('declares tools and the extensions, whose settings are {}', () => {
    expect(discovered()).toEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: EXTENSIONS },
      instructions: 'Call work.',
      ttlMs: 0,
      cacheScope: 'private',
      _meta,
    });
  });

  it('adds what the backend can do, but never the tasks of older revisions (N-8)', () => {
    const capabilities = {
      tools: { listChanged: true },
      prompts: {},
      tasks: { list: {} },
      extensions: { 'example.com/x': { a: 1 }, 'io.modelcontextprotocol/tasks': { wrong: true } },
    };
    expect(discovered({ capabilities, instructions: 'theirs', supportedVersions: ['2025-11-25'] })).toMatchObject({
      supportedVersions: ['2026-07-28'],
      instructions: 'Call work.',
      capabilities: {
        tools: { listChanged: true },
        prompts: {},
        extensions: { 'example.com/x': { a: 1 }, 'io.modelcontextprotocol/tasks': {} },
      },
    });
  });

  it('passes the instructions of the backend on where there are none of ours', () => {
    const { instructions: _, ...quiet } = info;
    expect(createEncode({ ...served, info: quiet }).discovered({ instructions: 'theirs' })).toMatchObject({
      instructions: 'theirs',
    });
  });
});

describe('tools/list', () => {
  it('shows ours first, then the backend’s, but none of the same name', () => {
    const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });
    const page = { tools: [tool('theirs'), tool('work')], nextCursor: 'opaque', ttlMs: 9, cacheScope: 'public' };
    expect(checked('tools/list', encode.listed([tool('work')], page))).toEqual({
      resultType: 'complete',
      tools: [tool('work'), tool('theirs')],
      nextCursor: 'opaque',
      ttlMs: 0,
      cacheScope: 'private',
      _meta,
    });
    expect(encode.listed([], { tools: [tool('work')] })).toMatchObject({ tools: [] });
  });
});
