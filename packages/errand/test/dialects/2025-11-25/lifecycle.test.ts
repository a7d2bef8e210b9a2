import { describe, expect, it } from 'vitest';
import { served } from '../../fixtures/served.ts';
import { addSessionTools } from '../../fixtures/session-tools.ts';
import { ASKED, openSession } from '../../fixtures/session-wire.ts';
import type { Loose } from '../../wire-schemas.ts';

const RELATED = 'io.modelcontextprotocol/related-task';
const text = (result: Loose): string => result.content[0].text as string;

describe('a client of revision 2025-11-25', () => {
  it('is told which operations on tasks there are (L-1, L-2, L-5, L-51, N-6)', async () => {
    const { url } = await served(addSessionTools);
    const { initialized } = await openSession(url);
    expect(initialized).toMatchObject({ protocolVersion: '2025-11-25', serverInfo: { name: 'errand-test' } });
    expect(initialized.capabilities.tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
    expect(initialized.capabilities).not.toHaveProperty('extensions');
  });

  it('is told of each tool whether it makes tasks (L-8 to L-11)', async () => {
    const { url } = await served(addSessionTools);
    const { tools } = await (await openSession(url)).result('tools/list');
    const support = Object.fromEntries(tools.map((tool: Loose) => [tool.name, tool.execution.taskSupport]));
    expect(support).toMatchObject({
      publish: 'optional',
      endless: 'optional',
      plain: 'forbidden',
      'tasks-only': 'required',
      task_status: 'forbidden',
    });
  });

  it('gets no task from a tool that makes none, and nothing else from one that makes only tasks (L-9, L-11)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    expect(await client.request('tools/call', { name: 'plain', task: {} })).toMatchObject({
      status: 200,
      error: { code: -32601 },
    });
    expect(await client.request('tools/call', { name: 'tasks-only' })).toMatchObject({ error: { code: -32601 } });
    expect((await client.begin('tasks-only')).status).toBe('working');
  });

  it('gets the plain result where it did not ask for a task, also of a tool that likes to make them', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    expect(text(await client.result('tools/call', { name: 'echo', arguments: { text: 'hi' } }))).toBe('hi');
    expect(await client.result('tools/call', { name: 'unlucky' })).toMatchObject({ isError: true });
    expect(await client.request('tools/call', { name: 'broken' })).toMatchObject({ error: { code: -31500 } });
  });

  it('gets a task where it asked for one, also of a quick call, which begins as working (L-12 to L-14, L-16, L-17, L-32, CASES 16)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const result = await client.result('tools/call', { name: 'echo', arguments: { text: 'hi' }, task: {} });
    expect(result).toEqual({
      task: {
        taskId: expect.any(String),
        status: 'working',
        createdAt: expect.any(String),
        lastUpdatedAt: expect.any(String),
        ttl: 48 * 3_600_000,
        pollInterval: 1000,
      },
      _meta: { [RELATED]: { taskId: result.task.taskId } },
    });
    const done = await client.result('tasks/result', { taskId: result.task.taskId });
    expect(done).toEqual({
      content: [{ type: 'text', text: 'hi' }],
      _meta: { [RELATED]: { taskId: result.task.taskId } },
    });
  });

  it('gets a task of a tool call only: nothing else is listed, so the wish for one is not looked at (L-3, L-6)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    expect(Object.keys(client.initialized.capabilities.tasks.requests)).toEqual(['tools']);
    expect(await client.result('ping', { task: {} })).toEqual({});
    expect(await client.result('tools/list', { task: {} })).toHaveProperty('tools');
  });

  it('reads a task flat, as plain JSON, in each of its states (L-18, L-20, L-22)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('two-questions');
    const states: string[] = [];
    for (const status of ['input_required', 'cancelled']) {
      if (status === 'cancelled') await client.result('tasks/cancel', { taskId });
      await client.until(taskId, (task) => task.status === status);
      const read = await client.open('tasks/get', { taskId });
      expect(read.headers.get('content-type')).toBe('application/json');
      states.push((await read.outcome()).result.status);
    }
    expect(states).toEqual(['input_required', 'cancelled']);
  });

  it('has its wish for a lifetime heard, within that of the tool (L-33)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    expect((await client.begin('endless', {}, { ttl: 60_000 })).ttl).toBe(60_000);
    expect((await client.begin('endless', {}, { ttl: 1e15 })).ttl).toBe(48 * 3_600_000);
    expect((await client.begin('endless', {}, { ttl: 0 })).ttl).toBe(1000);
    for (const task of [7, { ttl: 'long' }, { ttl: -1 }]) {
      expect(await client.request('tools/call', { name: 'endless', task: task as never })).toMatchObject({
        status: 200,
        error: { code: -32602 },
      });
    }
  });

  it('loses a task when its time is over, whatever it was about (L-34)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('publish', { page: 'home' }, { ttl: 1000 });
    const wait = await client.open('tasks/result', { taskId });
    const { error } = await wait.next(({ error }) => error !== undefined);
    expect(error).toMatchObject({ code: -31010 });
    await expect
      .poll(() => client.request('tasks/get', { taskId }), { timeout: 5000 })
      .toMatchObject({ error: { code: -32602 } });
  });

  it('is refused arguments that do not fit as an error, since it can take nothing but a task (L-13)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    expect(await client.request('tools/call', { name: 'echo', arguments: {}, task: {} })).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('text') },
    });
  });

  it('reads a tool error as a failed task, and gets the whole of its result (L-24, L-25, L-49, CASES 11)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('unlucky');
    expect(await client.result('tasks/result', { taskId })).toEqual({
      content: [{ type: 'text', text: 'no luck' }],
      isError: true,
      _meta: { [RELATED]: { taskId } },
    });
    expect(await client.result('tasks/get', { taskId })).toMatchObject({ status: 'failed', statusMessage: 'no luck' });
  });

  it('gets the JSON-RPC error of a task that came to one (L-24)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('broken');
    const { error } = await client.request('tasks/result', { taskId });
    expect(error).toEqual({ code: -31500, message: 'the printer is on fire', data: { printer: 3 } });
    expect(await client.result('tasks/get', { taskId })).toMatchObject({
      status: 'failed',
      statusMessage: 'the printer is on fire',
    });
  });

  it('waits for a result with any number of others, and asks again after it (L-23)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('counting');
    const others = await openSession(url);
    const waits = await Promise.all([client, client, others].map((each) => each.open('tasks/result', { taskId })));
    for (const wait of waits) expect(text((await wait.outcome()).result)).toBe('three');
    expect(text(await client.result('tasks/result', { taskId }))).toBe('three');
  });

  it('cancels a task that lives, and no other, and whoever waits hears of it (L-19, L-26, L-43 to L-45, CASES 12, 23)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('endless');
    const wait = await client.open('tasks/result', { taskId });
    expect(await client.result('tasks/cancel', { taskId })).toMatchObject({ taskId, status: 'cancelled' });
    expect((await wait.outcome()).error).toMatchObject({ code: -31013 });
    expect((await client.request('tasks/result', { taskId })).error).toMatchObject({ code: -31013 });
    expect((await client.request('tasks/cancel', { taskId })).error).toMatchObject({ code: -32602 });
    expect(await client.result('tasks/get', { taskId })).toMatchObject({ status: 'cancelled' });
    const quick = await client.begin('echo', { text: 'hi' });
    await client.result('tasks/result', { taskId: quick.taskId });
    expect((await client.request('tasks/cancel', { taskId: quick.taskId })).error).toMatchObject({ code: -32602 });
    expect(await client.result('tasks/get', { taskId: quick.taskId })).toMatchObject({ status: 'completed' });
  });

  it('takes back a wait, and never its task (L-27, L-47, T-8, CASES 22)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('endless');
    const wait = await client.open('tasks/result', { taskId });
    await client.notify('notifications/cancelled', { requestId: wait.id, reason: 'enough' });
    await wait.over;
    expect(wait.messages).toEqual([]);
    const cut = await client.open('tasks/result', { taskId });
    cut.cut();
    await cut.over;
    expect(await client.result('tasks/get', { taskId })).toMatchObject({ status: 'working' });
  });

  it('is told the same of tasks that never were, and of methods of other revisions that there are none (L-48)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      expect(await client.request(method, { taskId: 'nothing' })).toMatchObject({
        status: 200,
        error: { code: -32602 },
      });
      expect(await client.request(method, {})).toMatchObject({ status: 200, error: { code: -32602 } });
    }
    for (const method of ['tasks/update', 'tasks/continue', 'server/discover', 'subscriptions/listen', 'nope']) {
      expect(await client.request(method)).toMatchObject({ status: 200, error: { code: -32601 } });
    }
  });

  it('need not say to which task get, result and cancel belong, and is believed in params alone (L-36)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('endless');
    const _meta = { [RELATED]: { taskId: 'another' } };
    expect(await client.result('tasks/get', { taskId, _meta })).toMatchObject({ taskId });
    expect(await client.result('tasks/cancel', { taskId, _meta })).toMatchObject({ taskId });
  });

  it('does not list tasks where nobody knows whose they are (L-51)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    expect(await client.request('tasks/list')).toMatchObject({ error: { code: -32601 } });
  });

  it('that declares the extension of a later revision gets none of it (N-6)', async () => {
    const { url } = await served(addSessionTools);
    const extensions = { 'io.modelcontextprotocol/tasks': {} };
    const client = await openSession(url, { capabilities: { ...ASKED, extensions } });
    expect(await client.result('tools/call', { name: 'unlucky' })).toMatchObject({ isError: true });
  });
});
