import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import type { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { VERSION } from '../../../test/fixtures/frames.ts';
import { scriptedEngine } from '../../../test/scripted-engine.ts';
import { createFront, type Front } from '../front.ts';
import { serveHttp } from '../http.ts';
import { sdkBackend } from '../sdk.ts';
import { serveStdio } from '../stdio.ts';
import { notebook } from './notebook.suite.ts';

const log = pino({ level: 'silent' });

/** Our front before a notebook, and an engine with one tool. */
function fronted(mcp: McpServer): Front {
  const engine = scriptedEngine([{ name: 'ink', inputSchema: { type: 'object' } }]);
  return createFront({
    engine,
    info: { name: 'errand-sdk-test', version: '1.0.0' },
    backend: sdkBackend(() => mcp),
    log,
  });
}

async function throughHttp(mcp: McpServer): Promise<Transport> {
  const serving = await serveHttp(fronted(mcp), { port: 0, log });
  onTestFinished(() => serving.close());
  return new StreamableHTTPClientTransport(new URL(serving.url));
}

async function throughStdio(mcp: McpServer): Promise<Transport> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const serving = await serveStdio(fronted(mcp), { input, output, log });
  onTestFinished(() => serving.close());
  // The transport of an SDK server, seen from the other end of the pipe.
  return new StdioServerTransport(output, input);
}

describe.each([
  ['HTTP', throughHttp],
  ['stdio', throughStdio],
])('the official client reaches the server through us over %s', (_, connect) => {
  async function connected() {
    const { mcp } = notebook();
    const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: VERSION } } };
    const client = new Client({ name: 'errand-tests', version: '1.0.0' }, options);
    await client.connect(await connect(mcp));
    onTestFinished(() => client.close());
    return { client, mcp };
  }

  it('its tools, beside ours', async () => {
    const { client } = await connected();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'ink',
      'echo',
      'fail',
      'chatty',
      'wait',
      'sign',
      'whoami',
      'file',
      'shred',
    ]);
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Marie' } }));
    expect(await client.callTool({ name: 'sign', arguments: {} })).toMatchObject({
      content: [{ text: 'signed by Marie' }],
    });
    expect(await client.callTool({ name: 'file', arguments: { region: 'Köln' } })).toMatchObject({
      content: [{ text: 'filed in Köln' }],
    });
    const seen: number[] = [];
    await client.callTool(
      { name: 'chatty', arguments: {} },
      { onprogress: ({ progress }) => void seen.push(progress) },
    );
    expect(seen).toEqual([1]);
  });

  it('its prompts, completions and resources', async () => {
    const { client } = await connected();
    expect(client.getInstructions()).toBe('Read the notes first.');
    expect((await client.listPrompts()).prompts).toMatchObject([
      { name: 'summary', arguments: [{ name: 'day', required: true }] },
    ]);
    const ref = { type: 'ref/prompt' as const, name: 'summary' };
    expect((await client.complete({ ref, argument: { name: 'day', value: 't' } })).completion.values).toEqual([
      'tuesday',
    ]);
    expect((await client.readResource({ uri: 'note://days/monday' })).contents).toMatchObject([
      { text: 'nothing on monday' },
    ]);
    await expect(client.readResource({ uri: 'note://never' })).rejects.toMatchObject({ code: -32602 });
  });

  it('its changes', async () => {
    const { client, mcp } = await connected();
    const heard: string[] = [];
    client.fallbackNotificationHandler = async ({ method }) => void heard.push(method);
    const subscription = await client.listen({ promptsListChanged: true, resourceSubscriptions: ['note://today'] });
    expect(subscription.honoredFilter).toEqual({ promptsListChanged: true, resourceSubscriptions: ['note://today'] });
    mcp.sendToolListChanged();
    await mcp.server.sendResourceUpdated({ uri: 'note://today' });
    mcp.sendPromptListChanged();
    await vi.waitFor(() => expect(heard).toHaveLength(2));
    expect(heard).toEqual(['notifications/resources/updated', 'notifications/prompts/list_changed']);
    await subscription.close();
  });
});
