import { describe, expect, onTestFinished, test } from 'vitest';
import type { Client } from '@modelcontextprotocol/client';
import { sdkServer } from './conformance/sdk-server.ts';
import { attached } from './fixtures/attached.ts';
import { connectHttp } from './fixtures/connections.ts';
import { addLifeTools } from './fixtures/life-tools.ts';
import { served } from './fixtures/served.ts';

// The official client knows nothing of tasks. It finds the tools of Errand and all that the SDK server has.

const overErrand = async () => (await served(addLifeTools, { server: sdkServer })).url;

async function clientOf(url: string): Promise<Client> {
  const { client } = await connectHttp(url);
  onTestFinished(() => client.close());
  return client;
}

describe.each([
  ['that Errand serves', overErrand],
  ['that its owner serves, with Errand attached', () => attached(addLifeTools)],
])('the official client of a server %s', { timeout: 30_000 }, (_name, endpoint) => {
  const connect = async () => clientOf(await endpoint());

  test('lists the tools of Errand and of the SDK server in one list', async () => {
    const { tools } = await (await connect()).listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['publish', 'echo', 'test_image_content', 'test_tool_with_progress']));
    expect(new Set(names).size).toBe(names.length);
    expect(tools.find(({ name }) => name === 'echo')?.inputSchema).toMatchObject({
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
    });
  });

  test('calls tools of both', async () => {
    const client = await connect();
    expect(await client.callTool({ name: 'echo', arguments: { text: 'ours' } })).toMatchObject({
      content: [{ type: 'text', text: 'ours' }],
    });
    expect(await client.callTool({ name: 'test_image_content', arguments: {} })).toMatchObject({
      content: [{ type: 'image', mimeType: 'image/png' }],
    });
  });

  test('is held until a task would have ended, and answers what it asks on the way', async () => {
    const client = await connect();
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { go: true } }));
    expect(await client.callTool({ name: 'publish', arguments: { page: 'held' } })).toMatchObject({
      content: [{ type: 'text', text: 'https://pages.example/held' }],
    });
  });

  test('sees the progress of a tool of the SDK server', async () => {
    const seen: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void seen.push(progress);
    await (await connect()).callTool({ name: 'test_tool_with_progress', arguments: {} }, { onprogress });
    expect(seen).toEqual([0, 50, 100]);
  });

  test('reads prompts, and answers the question of one', async () => {
    const client = await connect();
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('test_prompt_with_arguments');
    const repeated = await client.getPrompt({
      name: 'test_prompt_with_arguments',
      arguments: { arg1: 'one', arg2: 'two' },
    });
    expect(repeated.messages[0]?.content).toMatchObject({ text: expect.stringContaining("arg1='one', arg2='two'") });

    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { context: 'a test' } }));
    const asked = await client.getPrompt({ name: 'test_input_required_result_prompt' });
    expect(asked.messages[0]?.content).toMatchObject({ text: 'In the context of a test' });
  });

  test('completes an argument of a prompt', async () => {
    const ref = { type: 'ref/prompt' as const, name: 'test_prompt_with_arguments' };
    const { completion } = await (await connect()).complete({ ref, argument: { name: 'arg1', value: 'teste' } });
    expect(completion.values).toEqual(['tested']);
  });

  test('reads resources, and one made from a template', async () => {
    const client = await connect();
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual([
      'test://static-text',
      'test://static-binary',
    ]);
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1);
    const { contents } = await client.readResource({ uri: 'test://template/7/data' });
    expect(contents[0]).toMatchObject({
      uri: 'test://template/7/data',
      text: expect.stringContaining('Data for ID: 7'),
    });
  });
});

describe('the official client of a server that Errand serves', { timeout: 30_000 }, () => {
  test('hears that the tools changed', async () => {
    const client = await clientOf(await overErrand());
    const heard = new Promise((resolve) => client.setNotificationHandler('notifications/tools/list_changed', resolve));
    const subscription = await client.listen({ toolsListChanged: true });
    onTestFinished(() => subscription.close());
    await client.callTool({ name: 'test_trigger_tool_change', arguments: {} });
    await heard;
  });
});
