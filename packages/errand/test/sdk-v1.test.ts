import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  TaskStatusNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { served, temporaryFolder } from './fixtures/served.ts';
import { programCommand } from './fixtures/server-process.ts';
import { addSessionTools } from './fixtures/session-tools.ts';

// The official client of revision 2025-11-25, with its experimental tasks.

async function overHttp(): Promise<Transport> {
  return new StreamableHTTPClientTransport(new URL((await served(addSessionTools)).url));
}

async function overStdio(): Promise<Transport> {
  const [command, args] = programCommand('session-stdio-server.ts', path.join(await temporaryFolder(), 'tasks.db'));
  return new StdioClientTransport({ command, args, stderr: 'inherit' });
}

async function connected(connect: () => Promise<Transport>) {
  const capabilities = { elicitation: {}, sampling: {}, roots: {} };
  const client = new Client({ name: 'errand-tests', version: '1.0.0' }, { capabilities });
  const questions: unknown[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    questions.push(params.message);
    return { action: 'accept', content: { go: true, name: 'Ada' } };
  });
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant',
    content: { type: 'text', text: 'roses are red' },
    model: 'a-model',
  }));
  const statuses: string[] = [];
  client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => void statuses.push(params.status));
  await client.connect(await connect());
  onTestFinished(() => client.close());
  return { client, questions, statuses };
}

describe.each([
  ['HTTP', overHttp],
  ['stdio', overStdio],
])('the official client of 2025-11-25 over %s', { timeout: 30_000 }, (_, connect) => {
  test('lists the tools, and calls one', async () => {
    const { client } = await connected(connect);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('publish');
    expect(await client.callTool({ name: 'echo', arguments: { text: 'hi' } })).toMatchObject({
      content: [{ type: 'text', text: 'hi' }],
    });
  });

  test('is asked by a call that makes no task', async () => {
    const { client, questions } = await connected(connect);
    const result = await client.callTool({ name: 'publish', arguments: { page: 'news' } });
    expect(result).toMatchObject({ structuredContent: { place: 'https://pages.example/news' } });
    expect(questions).toEqual(['Publish news (400 bytes)?']);
  });

  test('drives a task through a question to its result', async () => {
    const { client, questions, statuses } = await connected(connect);
    const kinds: string[] = [];
    const params = { name: 'publish', arguments: { page: 'news' } };
    let result: unknown;
    for await (const message of client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: {} })) {
      kinds.push(message.type);
      if (message.type === 'result') result = message.result;
      if (message.type === 'error') throw message.error;
    }
    expect(kinds[0]).toBe('taskCreated');
    expect(result).toMatchObject({ structuredContent: { size: 400 } });
    expect(questions).toEqual(['Publish news (400 bytes)?']);
    expect(statuses).toContain('completed');
  });

  test('creates, gets and cancels a task, and gets the result of a sampled one', async () => {
    const { client } = await connected(connect);
    const tasks = client.experimental.tasks;
    async function begin(name: string): Promise<string> {
      const stream = tasks.callToolStream({ name, arguments: {} }, CallToolResultSchema, { task: { ttl: 60_000 } });
      for await (const message of stream) if (message.type === 'taskCreated') return message.task.taskId;
      throw new Error('no task');
    }
    const endless = await begin('unlucky');
    expect(await tasks.getTask(endless)).toMatchObject({ ttl: 60_000 });
    const sampled = await begin('sampled');
    const result = await tasks.getTaskResult(sampled, CallToolResultSchema);
    expect(result.content).toEqual([{ type: 'text', text: 'roses are red' }]);
    const counting = await begin('counting');
    expect(await tasks.cancelTask(counting)).toMatchObject({ status: 'cancelled' });
    await expect(tasks.cancelTask(counting)).rejects.toMatchObject({ code: -32602 });
  });

  test('hears of progress as long as the task lives', async () => {
    const { client } = await connected(connect);
    const told: number[] = [];
    const stream = client.experimental.tasks.callToolStream({ name: 'counting', arguments: {} }, CallToolResultSchema, {
      task: {},
      onprogress: ({ progress }) => void told.push(progress),
    });
    for await (const message of stream) if (message.type === 'error') throw message.error;
    expect(told.length).toBeGreaterThan(0);
    expect([...told].sort((a, b) => a - b)).toEqual(told);
  });
});

test('the official client of 2025-11-25 lists its tasks over stdio, where it is known who it is', async () => {
  const { client } = await connected(overStdio);
  const stream = client.experimental.tasks.callToolStream({ name: 'unlucky' }, CallToolResultSchema, { task: {} });
  for await (const message of stream) {
    if (message.type !== 'taskCreated') continue;
    const { tasks } = await client.experimental.tasks.listTasks();
    expect(tasks.map(({ taskId }) => taskId)).toEqual([message.task.taskId]);
    break;
  }
});
