import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createErrand, type Errand } from '../src/index.ts';
import type { JsonObject } from '../src/json.ts';
import { testClient } from '../src/testing.ts';
import { attached } from './fixtures/attached.ts';
import { PLAIN_CLIENT, TASK_CLIENT, TASKS } from './fixtures/frames.ts';
import { gate, type Gate } from './fixtures/gate.ts';
import { served } from './fixtures/served.ts';
import { accept, textOf, wireClient } from './fixtures/wire.ts';

const ERRAND = 'dev.errand/tasks';
const KNOWING: JsonObject = { ...TASK_CLIENT, extensions: { [TASKS]: {}, [ERRAND]: {} } };
const METHODS = ['pause', 'resume', 'steer', 'graph', 'events'].map((name) => `errand/${name}`);
const settled = () => new Promise((resolve) => setTimeout(resolve, 150));

/** What only clients read that know the extension. */
const extensionOf = (task: JsonObject) => (task['_meta'] as JsonObject)[ERRAND] as JsonObject;

/** A tool of two steps, the first of which ends when a test says so. */
function twoSteps(errand: Errand, first: Gate, done: string[]): void {
  errand.tool('work', { task: 'always' }, async (_, task) => {
    await task.step('one', async () => {
      await first.opened;
      done.push('one');
    });
    await task.step('two', () => done.push('two'));
    return 'done';
  });
}

/** A tool whose subtask asks. */
function askingBelow(errand: Errand): void {
  const go = z.object({ go: z.boolean() });
  errand.tool('print', { inputSchema: z.object({ page: z.number() }) }, async ({ page }, task) => {
    const { content } = await task.elicit('approve', { message: `Page ${page}?`, schema: go });
    return `page ${page}: ${content?.go}`;
  });
  errand.tool('book', { task: 'always' }, async (_, task) => {
    const { content } = await task.subtask('chunk-3', 'print', { page: 3 });
    return { content: [...content] };
  });
}

describe('the extension dev.errand/tasks', { timeout: 30_000 }, () => {
  test('pauses and resumes a task: what runs ends, and nothing begins meanwhile', async () => {
    const first = gate();
    const done: string[] = [];
    const { url } = await served((errand) => twoSteps(errand, first, done));
    const [knowing, plain] = [wireClient(url, { capabilities: KNOWING }), wireClient(url)];
    const taskId = await plain.begin('work');
    const paused = await knowing.result('errand/pause', { taskId, reason: 'lunch' });
    expect(paused).toMatchObject({ resultType: 'complete', taskId, status: 'working', statusMessage: 'paused: lunch' });
    expect(extensionOf(paused)).toEqual({ paused: true });
    expect(await knowing.result('errand/pause', { taskId })).toEqual(paused);
    first.open();
    await settled();
    expect(done).toEqual(['one']);
    const seen = await plain.get(taskId);
    expect(seen).toMatchObject({ status: 'working', statusMessage: 'paused: lunch' });
    expect(seen['_meta']).not.toHaveProperty(ERRAND);
    const resumed = await knowing.result('errand/resume', { taskId });
    expect(extensionOf(resumed)).toEqual({});
    expect(resumed).not.toHaveProperty('statusMessage');
    expect(textOf(await plain.ended(taskId))).toBe('done');
    expect(done).toEqual(['one', 'two']);
  });

  test('a paused task stays paused over a restart, and ends by its deadline', async () => {
    let runs = 0;
    const server = await served((errand) => {
      errand.tool('wait', { task: 'always', deadline: '1500ms' }, async (_, task) => {
        runs++;
        await task.sleep('200ms');
        return 'done';
      });
    });
    const client = wireClient(server.url, { capabilities: KNOWING });
    const taskId = await client.begin('wait');
    await client.result('errand/pause', { taskId });
    await server.restart();
    await settled();
    expect(runs).toBe(1);
    expect(await client.ended(taskId)).toMatchObject({ status: 'failed', error: { code: -31010 } });
  });

  test('steers a task: its handler hears each message, in order', async () => {
    const server = await served((errand) => {
      errand.tool('drive', { task: 'always' }, async (_, task) => {
        const heard: unknown[] = [];
        for await (const message of task.steering()) {
          heard.push(message);
          if (message === 'stop') break;
        }
        return JSON.stringify(heard);
      });
    });
    const client = wireClient(server.url, { capabilities: KNOWING });
    const taskId = await client.begin('drive');
    await client.result('errand/steer', { taskId, message: { turn: 'left' } });
    await server.restart();
    await client.result('errand/steer', { taskId, message: 'stop' });
    expect(textOf(await client.ended(taskId))).toBe('[{"turn":"left"},"stop"]');
    const { error } = await client.send('errand/steer', { taskId, message: 'too late' });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('has ended') });
  });

  test('shows what a task is made of: its children, its graph, and its log', async () => {
    const { url } = await served(askingBelow);
    const client = wireClient(url, { capabilities: KNOWING });
    const taskId = await client.begin('book');
    await expect.poll(() => client.get(taskId).then(extensionOf)).toHaveProperty('childTaskIds');
    const [childId] = extensionOf(await client.get(taskId))['childTaskIds'] as string[];
    const child = await client.asked(childId!, 'approve');
    expect(extensionOf(child)).toEqual({ parentTaskId: taskId });
    // Whoever knows of subtasks sees the root as it is (S-13).
    expect(await client.get(taskId)).toMatchObject({ status: 'working' });
    const graph = await client.result('errand/graph', { taskId });
    expect(graph).toMatchObject({
      nodes: [
        { taskId, tool: 'book', status: 'working', subtasks: 1 },
        {
          taskId: childId,
          tool: 'print',
          status: 'input_required',
          parentTaskId: taskId,
          key: 'chunk-3',
          path: 'chunk-3',
        },
      ],
      truncated: false,
    });
    await client.update(childId!, { approve: accept({ go: true }) });
    expect(textOf(await client.ended(taskId))).toBe('page 3: true');
    const log: JsonObject[] = [];
    for (let after: unknown = -1, ended: unknown = false; ended !== true;) {
      const page = await client.result('errand/events', { taskId: childId!, after: after as number, limit: 2 });
      log.push(...(page['events'] as JsonObject[]));
      ({ next: after, ended } = page);
    }
    const kinds = log.map(({ kind }) => kind);
    expect(kinds[0]).toBe('created');
    expect(kinds).toEqual(expect.arrayContaining(['started', 'asked', 'answered']));
    expect(kinds.at(-1)).toBe('ended');
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index));
  });

  test('gives nobody anything of a task that is not theirs, and needs to be declared (CASES 1, 13)', async () => {
    const first = gate();
    const errand = createErrand({ name: 'errand-test', version: '1.0.0' });
    twoSteps(errand, first, []);
    const user = (subject: string) => ({
      principal: { kind: 'user', issuer: 'i', subject } as const,
      capabilities: { elicitation: {}, extensions: { [TASKS]: {}, [ERRAND]: {} } },
      tasks: false,
    });
    const owner = testClient(errand, { ...user('ada'), tasks: false });
    const stranger = testClient(errand, user('bob'));
    const plain = testClient(errand, { principal: user('ada').principal });
    const begun = await owner.request('tools/call', { name: 'work', arguments: {} });
    const { taskId } = (begun as unknown as { result: { taskId: string } }).result;
    for (const method of METHODS) {
      const params = { taskId, message: 'left' };
      const foreign = await stranger.request(method, params);
      const unknown = await stranger.request(method, { ...params, taskId: 'unknown' });
      expect(foreign).toMatchObject({ error: { code: -32602, message: 'Task not found' } });
      expect({ ...foreign, id: 0 }).toEqual({ ...unknown, id: 0 });
      const undeclared = await plain.request(method, params);
      expect(undeclared).toMatchObject({
        error: { code: -32021, data: { requiredCapabilities: { extensions: { [ERRAND]: {} } } } },
      });
    }
    expect(await owner.request('errand/list', {})).toMatchObject({ result: { tasks: [{ taskId }] } });
    expect(await stranger.request('errand/list', {})).toMatchObject({ result: { tasks: [] } });
    first.open();
    await errand.close();
  });

  test('is there also where its owner hosts a server of the SDK', async () => {
    const client = wireClient(await attached((errand) => twoSteps(errand, gate(), [])), { capabilities: KNOWING });
    const taskId = await client.begin('work');
    expect(extensionOf(await client.result('errand/pause', { taskId }))).toEqual({ paused: true });
    expect(await client.result('errand/graph', { taskId })).toMatchObject({ nodes: [{ taskId, paused: true }] });
    await client.cancel(taskId);
  });

  test('lists tasks page by page to who is known, and to nobody else', async () => {
    const errand = createErrand({ name: 'errand-test', version: '1.0.0' });
    errand.tool('work', { task: 'always' }, () => 'done');
    const capabilities = { extensions: { [TASKS]: {}, [ERRAND]: {} } };
    const local = testClient(errand, { principal: { kind: 'local' }, capabilities, tasks: false });
    const made: string[] = [];
    for (let index = 0; index < 5; index++) {
      const answer = await local.request('tools/call', { name: 'work', arguments: {} });
      made.unshift((answer as unknown as { result: { taskId: string } }).result.taskId);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const listed: string[] = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const answer = await local.request('errand/list', { limit: 2, ...(cursor !== undefined && { cursor }) });
      const { result } = answer as unknown as { result: { tasks: { taskId: string }[]; nextCursor?: string } };
      listed.push(...result.tasks.map(({ taskId }) => taskId));
      cursor = result.nextCursor;
    }
    expect(listed).toEqual(made);
    const anonymous = testClient(errand, { capabilities, tasks: false });
    expect(await anonymous.request('errand/list', {})).toMatchObject({ error: { code: -31012 } });
    await errand.close();
  });
});

describe('a client that knows nothing of subtasks', { timeout: 30_000 }, () => {
  test('sees, hears and answers what is asked below its task', async () => {
    const { url } = await served(askingBelow);
    const client = wireClient(url);
    const taskId = await client.begin('book');
    const listening = await client.listen([taskId]);
    const asking = await listening.next(({ params }) => params?.['status'] === 'input_required');
    expect(asking.params).toMatchObject({
      taskId,
      inputRequests: { 'chunk-3/approve': { params: { message: 'Page 3?' } } },
    });
    const { resultType: _, _meta: __, ...read } = await client.get(taskId);
    expect(asking.params).toMatchObject(read);
    const refused = await client.send('tasks/update', {
      taskId,
      inputResponses: { 'chunk-3/approve': accept({ go: 1 }) },
    });
    expect(refused.error).toMatchObject({ code: -32602, data: { key: 'chunk-3/approve' } });
    await client.update(taskId, { 'chunk-3/approve': accept({ go: true }), 'chunk-9/approve': accept({}) });
    expect(textOf(await client.ended(taskId))).toBe('page 3: true');
    await listening.next(({ params }) => params?.['status'] === 'completed');
    listening.close();
  });

  test('nor of tasks is asked the same by its call', async () => {
    const { url } = await served(askingBelow);
    const client = wireClient(url, { capabilities: PLAIN_CLIENT });
    const asked = await client.call('book');
    expect(asked).toMatchObject({
      resultType: 'input_required',
      inputRequests: { 'chunk-3/approve': { method: 'elicitation/create' } },
    });
    const again = await client.result('tools/call', {
      name: 'book',
      arguments: {},
      inputResponses: { 'chunk-3/approve': accept({ go: false }) },
      requestState: asked['requestState']!,
    });
    expect(textOf(again)).toBe('page 3: false');
  });
});
