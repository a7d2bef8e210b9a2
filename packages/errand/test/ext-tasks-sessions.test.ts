import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import {
  createTaskSessionFromClient,
  type ApplicationInputRequest,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client';
import { bindTaskReceiver, type TaskReceiverCallback } from '@modelcontextprotocol/ext-tasks/receiver';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectHttp, FRAMING } from './fixtures/connections.ts';
import { served, temporaryFolder } from './fixtures/served.ts';
import { programCommand } from './fixtures/server-process.ts';
import { addSessionTools } from './fixtures/session-tools.ts';

// The client package of the tasks extension, and its tasks on the client's side, in sessions of revision 2025-11-25.

/** In this revision it is the client that asks for a task. */
const AS_TASK = { task: { preference: 'prefer' } } as const;

type Receiver = Pick<Parameters<typeof bindTaskReceiver>[1], 'sampling' | 'elicitation'>;

/** A client of the official SDK that opens by `initialize`. */
function olderClient(receiver?: Receiver): Client {
  const requests = {
    ...(receiver?.sampling && { sampling: { createMessage: {} } }),
    ...(receiver?.elicitation && { elicitation: { create: {} } }),
  };
  const capabilities = {
    elicitation: {},
    sampling: {},
    ...(receiver && { tasks: { list: {}, cancel: {}, requests } }),
  };
  const client = new Client(FRAMING.clientInfo, { capabilities });
  if (receiver) {
    const binding = bindTaskReceiver(client, {
      ...receiver,
      methods: {
        ...(receiver.sampling && { 'sampling/createMessage': true }),
        ...(receiver.elicitation && { 'elicitation/create': true }),
      },
      pollIntervalMs: 50,
    });
    onTestFinished(() => binding.close());
  }
  return client;
}

async function overHttp(receiver?: Receiver): Promise<Client> {
  const client = olderClient(receiver);
  await client.connect(new StreamableHTTPClientTransport(new URL((await served(addSessionTools)).url)));
  return client;
}

async function overStdio(receiver?: Receiver): Promise<Client> {
  const [command, args] = programCommand('session-stdio-server.ts', path.join(await temporaryFolder(), 'tasks.db'));
  const client = olderClient(receiver);
  await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
  return client;
}

function session(client: Client, answer?: (request: ApplicationInputRequest) => unknown): TaskEnabledSession {
  const opened = createTaskSessionFromClient(client, {
    endpointId: 'errand-test',
    ...(answer && { onInputRequest: async (request) => answer(request) as never }),
  });
  onTestFinished(async () => {
    await opened.close();
    await client.close();
  });
  return opened;
}

describe.each([
  ['HTTP', overHttp],
  ['stdio', overStdio],
])('ext-tasks in a session over %s', { timeout: 30_000 }, (_name, connect) => {
  test('drives a task through a question to its result', async () => {
    const tasks = session(await connect(), () => ({ action: 'accept', content: { go: true } }));
    const execution = await tasks.callTool('publish', { page: 'news' }, AS_TASK);
    expect(execution.kind).toBe('task');
    expect((await execution.settle()).outcome).toMatchObject({
      status: 'completed',
      result: { structuredContent: { size: 400, place: 'https://pages.example/news' } },
    });
  });

  test('hears why a task failed, be it a tool error or a JSON-RPC error', async () => {
    const tasks = session(await connect());
    expect(await (await tasks.callTool('unlucky', {}, AS_TASK)).result()).toMatchObject({
      status: 'failed',
      error: { message: 'no luck' },
    });
    const broken = await (await tasks.callTool('broken', {}, AS_TASK)).result();
    expect(broken).toMatchObject({ status: 'failed', error: { message: 'the printer is on fire' } });
  });

  test('cancels a task', async () => {
    const execution = await session(await connect()).callTool('endless', {}, AS_TASK);
    await execution.cancel();
    expect(await execution.result()).toMatchObject({ status: 'cancelled' });
  });

  test('answers a question by a task of its own, which the server follows (L-53)', async () => {
    const made: string[] = [];
    const elicitation: TaskReceiverCallback = async (_request, { taskId }) => {
      made.push(taskId);
      await new Promise((resolve) => setTimeout(resolve, 150));
      return { action: 'accept', content: { go: true } };
    };
    const sampling: TaskReceiverCallback = async () => ({
      role: 'assistant',
      content: { type: 'text', text: 'violets are blue' },
      model: 'a-model',
    });
    const tasks = session(await connect({ elicitation, sampling }));
    const published = await (await tasks.callTool('publish', { page: 'news' }, AS_TASK)).result();
    expect(published).toMatchObject({ result: { structuredContent: { size: 400 } } });
    expect(made).toHaveLength(1);
    const sampled = await (await tasks.callTool('sampled', {}, AS_TASK)).result();
    expect(sampled).toMatchObject({ result: { content: [{ text: 'violets are blue' }] } });
  });
});

test('one URL serves ext-tasks in both revisions', async () => {
  const { url } = await served(addSessionTools);
  const older = olderClient();
  await older.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { client, rawDispatch } = await connectHttp(url);
  const newer = createTaskSessionFromClient(client, {
    endpointId: 'errand-test',
    rawDispatch,
    v2RequestFraming: FRAMING,
  });
  onTestFinished(async () => {
    await newer.close();
    await client.close();
  });
  for (const tasks of [session(older), newer]) {
    const execution = await tasks.callTool('counting', {}, AS_TASK);
    expect(await execution.result()).toMatchObject({ status: 'completed', result: { content: [{ text: 'three' }] } });
  }
});
