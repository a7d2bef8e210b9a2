import {
  createTaskSessionFromClient,
  type ApplicationInputRequest,
  type SerializedTaskReference,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sdkServer } from './conformance/sdk-server.ts';
import { attached } from './fixtures/attached.ts';
import { connectHttp, connectStdio, FRAMING, type Connection } from './fixtures/connections.ts';
import { addLifeTools } from './fixtures/life-tools.ts';
import { served, temporaryFolder } from './fixtures/served.ts';
import { programCommand } from './fixtures/server-process.ts';

// The client package of the tasks extension, which nobody here wrote, against each way in.

async function overHttp(): Promise<Connection> {
  return connectHttp((await served(addLifeTools, { server: sdkServer })).url);
}

async function overStdio(): Promise<Connection> {
  return connectStdio(programCommand('stdio-server.ts', path.join(await temporaryFolder(), 'tasks.db')));
}

async function overAttach(): Promise<Connection> {
  return connectHttp(await attached(addLifeTools));
}

type Answer = (request: ApplicationInputRequest) => unknown;

function session({ client, rawDispatch }: Connection, answer?: Answer): TaskEnabledSession {
  const opened = createTaskSessionFromClient(client, {
    endpointId: 'errand-test',
    rawDispatch,
    v2RequestFraming: FRAMING,
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
  ['an attached SDK server', overAttach],
])('ext-tasks over %s', { timeout: 30_000 }, (_name, connect) => {
  test('drives a task through a question to its result', async () => {
    const questions: ApplicationInputRequest[] = [];
    const tasks = session(await connect(), (question) => {
      questions.push(question);
      return { action: 'accept', content: { go: true } };
    });
    const execution = await tasks.callTool('publish', { page: 'news' });
    expect(execution.kind).toBe('task');
    const statuses: string[] = [];
    const { outcome } = await execution.settle({
      onEvent: (event) => void (event.type === 'task' && statuses.push(event.task.status)),
    });
    expect(outcome).toMatchObject({
      status: 'completed',
      result: {
        content: [{ type: 'text', text: 'https://pages.example/news' }],
        structuredContent: { size: 400, place: 'https://pages.example/news' },
      },
    });
    expect(questions).toHaveLength(1);
    expect(questions[0]).toMatchObject({
      kind: 'elicitation',
      params: { message: 'Publish news (400 bytes)?', requestedSchema: { properties: { go: { type: 'boolean' } } } },
    });
    expect(statuses.at(-1)).toBe('completed');
  });

  test('takes the plain result of a quick call', async () => {
    const execution = await session(await connect()).callTool('echo', { text: 'quick' });
    expect(execution.kind).toBe('immediate');
    expect(await execution.result()).toMatchObject({ status: 'completed', result: { content: [{ text: 'quick' }] } });
  });

  test('tells a tool error from a JSON-RPC error', async () => {
    const tasks = session(await connect());
    const unlucky = await (await tasks.callTool('unlucky')).result();
    expect(unlucky).toMatchObject({ status: 'completed', result: { isError: true, content: [{ text: 'no luck' }] } });
    const broken = await (await tasks.callTool('broken')).result();
    expect(broken).toMatchObject({ status: 'failed', error: { code: -31500, data: { printer: 3 } } });
  });

  test('cancels a task', async () => {
    const execution = await session(await connect()).callTool('endless');
    await execution.cancel();
    expect(await execution.result()).toMatchObject({ status: 'cancelled' });
  });

  test('answers a question before there is a task', async () => {
    const tasks = session(await connect(), () => ({ action: 'accept', content: { name: 'Ada' } }));
    const execution = await tasks.callTool('named');
    expect(execution.kind).toBe('task');
    expect(await execution.result()).toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'Hello, Ada' }] },
    });
  });

  test('hands a task over to a later owner', async () => {
    const tasks = session(await connect());
    const execution = await tasks.callTool('endless');
    if (execution.kind !== 'task') throw new Error('no task');
    let reference: SerializedTaskReference | undefined;
    await execution.handoff((given) => void (reference = structuredClone(given)));
    // ext-tasks lets go of a task in a later turn of the loop than the one in which `handoff` resolves.
    await new Promise((resolve) => setTimeout(resolve, 20));
    const resumed = await tasks.resumeTask(reference!);
    await resumed.cancel();
    expect(await resumed.result()).toMatchObject({ status: 'cancelled' });
  });
});
