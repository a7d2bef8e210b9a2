import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../src/json.ts';
import { attached } from './fixtures/attached.ts';
import { connectHttp, connectStdio, type Connection } from './fixtures/connections.ts';
import { served } from './fixtures/served.ts';
import { programCommand } from './fixtures/server-process.ts';
import { addSlowTools } from './fixtures/slow-tools.ts';

// The official client as most hosts have it: it declares nothing, and has never heard of tasks.

const NOTHING = {};

const overHttp = async (): Promise<Connection> => connectHttp((await served(addSlowTools)).url, NOTHING);
const overStdio = (): Promise<Connection> => connectStdio(programCommand('slow-stdio-server.ts'), NOTHING);
const overAttach = async (): Promise<Connection> => connectHttp(await attached(addSlowTools), NOTHING);

type Progress = { progress: number; total?: number | undefined; message?: string | undefined };

async function host(connect: () => Promise<Connection>): Promise<Client> {
  const { client } = await connect();
  onTestFinished(() => client.close());
  return client;
}

const textOf = (result: CallToolResult): string =>
  result.content.map((block) => ('text' in block ? block.text : '')).join();
const taskIdOf = (result: CallToolResult): string => (result.structuredContent as { taskId: string }).taskId;

/** Calls a tool and keeps what is told of it meanwhile. */
async function follow(client: Client, name: string, args: JsonObject = {}) {
  const seen: Progress[] = [];
  const onprogress = (progress: Progress): void => void seen.push(progress);
  const result = await client.callTool({ name, arguments: args }, { onprogress });
  return { seen, result };
}

describe.each([
  ['HTTP', overHttp],
  ['stdio', overStdio],
  ['an attached SDK server', overAttach],
])('a host that knows nothing of tasks, over %s', { timeout: 30_000 }, (name, connect) => {
  test('comes to the result of a tool that takes longer than it waits, by the tools that the model is told of', async () => {
    const client = await host(connect);
    // With the list the client knows the schemas, and refuses every result that does not fit.
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(
      expect.arrayContaining(['bake', 'task_status', 'task_answer', 'task_cancel']),
    );
    const handed = await client.callTool({ name: 'bake', arguments: { cake: 'plum cake' } });
    expect(handed.isError).toBeUndefined();
    expect(textOf(handed)).toMatch(/mixing.*task_status/);
    const taskId = taskIdOf(handed);

    const asked = await client.callTool({ name: 'task_status', arguments: { taskId } });
    expect(textOf(asked)).toMatch(/"heat": How hot for the plum cake\?/);
    const answer = (degrees: number) =>
      client.callTool({
        name: 'task_answer',
        arguments: { taskId, answers: { heat: { action: 'accept', content: { degrees } } } },
      });
    const refused = await answer(20);
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toMatch(/Invalid answer: answers\.heat\.content\.degrees: /);
    expect((await answer(180)).isError).toBeUndefined();

    const done = await follow(client, 'task_status', { taskId });
    expect(done.result).toMatchObject({
      content: [{ type: 'text', text: 'plum cake, baked at 180 degrees' }],
      structuredContent: { cake: 'plum cake', degrees: 180 },
    });
    expect(done.seen.at(-1)).toMatchObject({ message: 'baking' });
  });

  test('sees how a call goes on that is held, and then its result', async () => {
    const { seen, result } = await follow(await host(connect), 'stir');
    expect(textOf(result)).toBe('stirred');
    const turns = ['first turn', 'second turn', 'third turn'].map((message, progress) => ({
      progress,
      total: 3,
      message,
    }));
    // Over HTTP a call is given a second before its answer becomes a stream, which begins with how far it is by then.
    expect(seen).toEqual(name === 'stdio' ? turns : turns.slice(-seen.length));
    expect(seen).not.toEqual([]);
  });

  test('takes back a task by its own tool, and finds no other', async () => {
    const client = await host(connect);
    const taskId = taskIdOf(await client.callTool({ name: 'simmer', arguments: {} }));
    expect(textOf(await client.callTool({ name: 'task_cancel', arguments: { taskId } }))).toContain('was cancelled');
    const unknown = await client.callTool({ name: 'task_cancel', arguments: { taskId: `${taskId}x` } });
    expect(unknown).toMatchObject({ isError: true, structuredContent: { error: { code: -32602 } } });
  });

  test('gets the plain result of a call that is quick', async () => {
    const client = await host(connect);
    await client.listTools();
    expect(await client.callTool({ name: 'taste', arguments: {} })).toMatchObject({
      structuredContent: { sweet: true },
    });
  });
});
