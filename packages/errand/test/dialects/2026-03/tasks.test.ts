import { describe, expect, it } from 'vitest';
import { addMarchTools } from '../../fixtures/march-tools.ts';
import { begin, hasEnded, isIncomplete, OPT_IN, openMarch, until } from '../../fixtures/march-wire.ts';
import { served } from '../../fixtures/served.ts';
import { ASKED, openSession } from '../../fixtures/session-wire.ts';
import type { Loose } from '../../wire-schemas.ts';

const RELATED = 'io.modelcontextprotocol/related-task';
const NAMED = { action: 'accept', content: { name: 'Ada' } };
const YES = { action: 'accept', content: { go: true } };

describe('the opening of a session in the March drafts', () => {
  it('takes the version and the opt-in, which the server echoes with what it speaks (U-1 to U-3, N-7)', async () => {
    const { url } = await served(addMarchTools);
    const { initialized } = await openMarch(url);
    expect(initialized.protocolVersion).toBe('DRAFT-2026-v1');
    expect(initialized.capabilities.tasks).toEqual({ cancel: {} });
    expect(initialized.capabilities.experimental[OPT_IN]).toEqual({
      seps: ['SEP-2229', 'SEP-2339', 'SEP-2322', 'SEP-2268', 'transports-wg#11'],
      mrtr: {},
      subtasks: {},
      progress: {},
    });
    const some = await openMarch(url, { mrtr: {} });
    expect(some.initialized.capabilities.experimental[OPT_IN]).toEqual({
      seps: ['SEP-2229', 'SEP-2339', 'SEP-2322'],
      mrtr: {},
    });
  });

  it('without the opt-in is by the rules of 2025-11-25, and under the version that was asked for (U-14, N-7)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openSession(url, { version: 'DRAFT-2026-v1' });
    expect(client.initialized.protocolVersion).toBe('DRAFT-2026-v1');
    expect(client.initialized.capabilities.tasks).toHaveProperty('requests');
    expect((await client.begin('endless')).status).toBe('working');
    // Nobody gets a task who did not ask for one.
    expect(await client.result('tools/call', { name: 'echo', arguments: { text: 'hi' } })).not.toHaveProperty('task');
    expect(await client.request('tasks/continue', { taskId: 'x' })).toMatchObject({ error: { code: -32601 } });
  });

  it('with the opt-in but another version is by that version (N-1)', async () => {
    const { url } = await served(addMarchTools);
    const capabilities = { ...ASKED, experimental: { [OPT_IN]: {} } };
    const client = await openSession(url, { capabilities });
    expect(client.initialized.protocolVersion).toBe('2025-11-25');
    expect(client.initialized.capabilities).not.toHaveProperty('experimental');
  });
});

describe('a task in the March drafts', () => {
  it('lives the life of hello_world, message for message (SEP-2339; K-6, K-9, R-2, R-3, R-6, U-12)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const called = await client.result('tools/call', { name: 'hello_world', arguments: {} });
    const time = expect.any(String) as string;
    const { taskId } = called.task;
    const task = { taskId, createdAt: time, lastUpdatedAt: time, ttl: 48 * 3_600_000, pollInterval: 50 };
    expect(called).toEqual({ task: { ...task, status: 'working' } });
    expect(await client.result('tasks/continue', { taskId })).toEqual({ ...task, status: 'working' });
    expect(await until(client, taskId, isIncomplete)).toEqual({
      result_type: 'incomplete',
      inputRequests: {
        name: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: 'Please provide your name.',
            requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
          },
        },
      },
      _meta: { [RELATED]: { taskId } },
    });
    expect(await client.result('tasks/get', { taskId })).toEqual({ ...task, status: 'input_required' });
    const answered = await client.result('tasks/continue', { taskId, inputResponses: { name: NAMED } });
    expect(answered).toEqual({ ...task, status: 'working' });
    expect(await until(client, taskId, hasEnded)).toEqual({
      ...task,
      status: 'completed',
      result: { content: [{ type: 'text', text: 'Hello, Ada!' }], isError: false },
    });
  });

  it('comes unasked for, where the server wants one (U-4, U-6 to U-10, R-4, CASES 31)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const quick = { name: 'echo', arguments: { text: 'hi' } };
    expect(await client.result('tools/call', quick)).toMatchObject({ content: [{ text: 'hi' }] });
    // A wish for a task is no order for one, wherever it stands.
    expect(await client.result('tools/call', { ...quick, task: { ttl: 5000 } })).toMatchObject({
      content: [{ text: 'hi' }],
    });
    expect(await client.result('tools/call', { name: 'plain', task: {} })).toMatchObject({
      content: [{ text: 'plain' }],
    });
    const made = await client.result('tools/call', { name: 'endless', task: { ttl: 60_000 } });
    expect(made.task.ttl).toBe(60_000);
    const beside = {
      jsonrpc: '2.0',
      id: 'b',
      method: 'tools/call',
      params: { name: 'endless' },
      task: { ttl: 70_000 },
    };
    expect((await client.post(beside)).json).toMatchObject({ result: { task: { ttl: 70_000 } } });
    // It can be read as soon as it was told of (U-10).
    expect(await client.result('tasks/get', { taskId: made.task.taskId })).toMatchObject({ ttl: 60_000 });
  });

  it('is not announced by the tools (U-5)', async () => {
    const { url } = await served(addMarchTools);
    const { tools } = await (await openMarch(url)).result('tools/list');
    for (const tool of tools) expect(tool).not.toHaveProperty('execution');
    expect(tools.map(({ name }: Loose) => name)).not.toContain('task_status');
  });

  it('tells an error inline, and of a failed tool all that it said (K-3 to K-5, R-5, T-4, CASES 11)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    expect(await until(client, await begin(client, 'broken'), hasEnded)).toMatchObject({
      status: 'failed',
      statusMessage: 'the printer is on fire',
      error: { code: -31500, message: 'the printer is on fire', data: { printer: 3 } },
    });
    expect(await until(client, await begin(client, 'unlucky'), hasEnded)).toMatchObject({
      status: 'failed',
      error: {
        code: -31014,
        message: 'no luck',
        data: { 'dev.errand/result': { content: [{ type: 'text', text: 'no luck' }], isError: true } },
      },
    });
  });

  it('answers continue as often as it is asked, also when it has ended (K-7, K-8, K-12)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const taskId = await begin(client, 'counting');
    const ended = await until(client, taskId, hasEnded);
    expect(await client.result('tasks/continue', { taskId })).toEqual(ended);
    expect(await client.result('tasks/get', { taskId })).toEqual(ended);
    expect(await client.result('tasks/continue', { taskId, inputResponses: { late: YES } })).toEqual(ended);
  });

  it('takes answers one by one, and asks again for those that are missing (K-10, K-11, M-8, M-12, CASES 21)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const taskId = await begin(client, 'two-questions');
    const both = await until(client, taskId, isIncomplete);
    expect(Object.keys(both.inputRequests)).toEqual(['first', 'second']);
    const wrong = { first: { action: 'accept', content: { go: 'no' } } };
    expect(await client.request('tasks/continue', { taskId, inputResponses: wrong })).toMatchObject({
      status: 200,
      error: { code: -32602 },
    });
    const some = { first: YES, unknown: YES };
    const left = await client.result('tasks/continue', { taskId, inputResponses: some });
    expect(Object.keys(left.inputRequests)).toEqual(['second']);
    await client.result('tasks/continue', { taskId, inputResponses: { second: { action: 'decline' } } });
    expect(await until(client, taskId, hasEnded)).toMatchObject({ result: { content: [{ text: 'accept,decline' }] } });
  });

  it('takes answers by the rival of continue, too, which names it by metadata alone (M-10, R-1)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const taskId = await begin(client, 'hello_world');
    await until(client, taskId, isIncomplete);
    const _meta = { [RELATED]: { taskId } };
    const taken = await client.result('tasks/input_response', { inputResponses: { name: NAMED }, _meta });
    expect(taken).toEqual({ _meta });
    expect(await until(client, taskId, hasEnded)).toMatchObject({ result: { content: [{ text: 'Hello, Ada!' }] } });
    expect(await client.request('tasks/input_response', { inputResponses: {} })).toMatchObject({
      error: { code: -32602 },
    });
  });

  it('may send its user to a page, which needs no answer in the flow of a task (R-10)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const taskId = await begin(client, 'paying');
    const asked = await until(client, taskId, isIncomplete);
    expect(asked.inputRequests.pay.params).toMatchObject({ mode: 'url', url: 'https://pay.example' });
    await client.result('tasks/continue', { taskId, inputResponses: { pay: { action: 'accept' } } });
    expect(await until(client, taskId, hasEnded)).toMatchObject({ status: 'completed' });
  });

  it('is cancelled once, and has neither result nor error then (K-1, K-19)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const taskId = await begin(client, 'endless');
    expect(await client.result('tasks/cancel', { taskId })).toMatchObject({ status: 'cancelled' });
    expect(await client.request('tasks/cancel', { taskId })).toMatchObject({ error: { code: -32602 } });
    expect(await client.result('tasks/continue', { taskId })).toMatchObject({ status: 'cancelled' });
  });

  it('that never was is unknown to all, and tasks/result to nobody (K-14, K-19, U-11)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    for (const method of ['tasks/get', 'tasks/continue', 'tasks/cancel']) {
      expect(await client.request(method, { taskId: 'x' })).toMatchObject({ status: 200, error: { code: -32602 } });
    }
    const taskId = await begin(client, 'endless');
    expect(await client.request('tasks/result', { taskId })).toMatchObject({ status: 200, error: { code: -32601 } });
    expect(await client.request('tasks/update', { taskId })).toMatchObject({ error: { code: -32601 } });
  });

  it('is named in params alone (K-18)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const taskId = await begin(client, 'endless');
    const _meta = { [RELATED]: { taskId: 'another' } };
    for (const method of ['tasks/get', 'tasks/continue', 'tasks/cancel']) {
      expect(await client.result(method, { taskId, _meta })).toMatchObject({ taskId });
    }
  });

  it('tells who listens of each change, with what it came to (K-2, K-17, P-6, P-7, R-7)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const stream = await client.listen();
    const call = { name: 'counting', arguments: {}, _meta: { progressToken: 'p' } };
    const { taskId } = (await client.result('tools/call', call)).task;
    const done = await stream.next(({ params }) => params?.status === 'completed');
    expect(done.params).toEqual(await client.result('tasks/get', { taskId }));
    const told = stream.messages.filter(({ method }) => method === 'notifications/tasks/status');
    expect(told.map(({ params }) => params.progress).filter(Boolean).length).toBeGreaterThan(0);
    const progress = stream.messages.filter(({ method }) => method === 'notifications/progress');
    expect(progress.at(-1)?.params).toMatchObject({ progressToken: 'p', _meta: { [RELATED]: { taskId } } });
  });

  it('shows how far it is to who understands that, and never less than before (P-1 to P-5)', async () => {
    const { url } = await served(addMarchTools);
    const [client, other] = [await openMarch(url), await openMarch(url, { mrtr: {} })];
    const taskId = await begin(client, 'counting');
    const seen: Loose[] = [];
    await until(client, taskId, (answer) => {
      seen.push(answer);
      return hasEnded(answer);
    });
    const numbers = seen.map(({ progress }) => progress ?? 0);
    expect([...numbers].sort((a, b) => a - b)).toEqual(numbers);
    expect(seen.at(-1)).toMatchObject({ progress: 3, progressTotal: 3 });
    const ended = await other.result('tasks/get', { taskId });
    for (const key of ['progress', 'progressTotal']) expect(ended).not.toHaveProperty(key);
  });
});

describe('a call in the March drafts that asks before there is a task', () => {
  it('is made again with the answers, and then makes one (M-1 to M-6, M-11)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const asked = await client.result('tools/call', { name: 'named', arguments: {} });
    expect(asked.inputRequests.who).toMatchObject({ method: 'elicitation/create' });
    const { requestState } = asked;
    const again = { name: 'named', arguments: {}, inputResponses: { who: NAMED }, requestState };
    const made = await client.result('tools/call', again);
    expect(await until(client, made.task.taskId, hasEnded)).toMatchObject({
      result: { content: [{ text: 'Hello, Ada' }] },
    });
    for (const forged of [`${requestState}x`, 'x']) {
      expect(await client.request('tools/call', { ...again, requestState: forged })).toMatchObject({
        error: { code: -32602 },
      });
    }
    const missing = await client.result('tools/call', { ...again, inputResponses: { other: NAMED } });
    expect(missing).toMatchObject({ result_type: 'incomplete', inputRequests: { who: {} } });
  });

  it('sends nobody to a page (M-9, R-10)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    expect(await client.request('tools/call', { name: 'visiting' })).toMatchObject({ error: { code: -32600 } });
  });
});
