import { describe, expect, it } from 'vitest';
import { notebook } from '../../../src/serve/sdk/notebook.suite.ts';
import { served } from '../../fixtures/served.ts';
import { addSessionTools } from '../../fixtures/session-tools.ts';
import { openSession } from '../../fixtures/session-wire.ts';
import type { Loose } from '../../wire-schemas.ts';

const text = (result: Loose): string => result.content[0].text as string;

async function open() {
  const { mcp, waits } = notebook();
  const { url } = await served(addSessionTools, { server: () => mcp });
  return { mcp, waits, client: await openSession(url) };
}

describe('an SDK server behind a session of revision 2025-11-25', () => {
  it('adds what it can do to what we can', async () => {
    const { initialized } = (await open()).client;
    expect(initialized).toMatchObject({
      instructions: 'Read the notes first.',
      serverInfo: { name: 'errand-test' },
      capabilities: {
        prompts: {},
        resources: { subscribe: true },
        completions: {},
        logging: {},
        tasks: { cancel: {} },
      },
    });
    expect(initialized.capabilities).not.toHaveProperty('extensions');
  });

  it('has its tools listed beside ours, as such that make no tasks, and called', async () => {
    const { client } = await open();
    const { tools } = await client.result('tools/list');
    const named = (name: string) => tools.find((tool: Loose) => tool.name === name);
    expect(named('publish').execution).toEqual({ taskSupport: 'optional' });
    expect(named('whoami').execution?.taskSupport ?? 'forbidden').toBe('forbidden');
    expect(text(await client.result('tools/call', { name: 'echo', arguments: { text: 'ours' } }))).toBe('ours');
    expect(await client.result('tools/call', { name: 'fail', arguments: {} })).toMatchObject({ isError: true });
    expect(await client.request('tools/call', { name: 'fail', arguments: {}, task: {} })).toMatchObject({
      status: 200,
      error: { code: -32601 },
    });
    // No header repeats an argument in this revision.
    expect(text(await client.result('tools/call', { name: 'file', arguments: { region: 'eu' } }))).toBe('filed in eu');
  });

  it('has its prompts and resources served without a mark of a later revision', async () => {
    const { client } = await open();
    expect(await client.result('prompts/list')).toMatchObject({ prompts: [{ name: 'summary' }] });
    expect(await client.result('prompts/get', { name: 'summary', arguments: { day: 'monday' } })).toMatchObject({
      messages: [{ content: { text: 'Sum up monday' } }],
    });
    expect(await client.result('resources/read', { uri: 'note://today' })).toEqual({
      contents: [{ uri: 'note://today', text: 'buy pencils' }],
    });
    expect(await client.result('notes/count', { day: 'monday' })).toEqual({ count: 6 });
    expect(await client.request('notes/nothing')).toMatchObject({ status: 200, error: { code: -32601 } });
  });

  it('asks by results, and the client is asked by requests', async () => {
    const { client } = await open();
    const call = await client.open('tools/call', { name: 'sign', arguments: {} });
    const question = await call.next(({ method }) => method === 'elicitation/create');
    await client.respond(question.id, { action: 'accept', content: { name: 'Ann' } });
    expect(text((await call.outcome()).result)).toBe('signed by Ann');
  });

  it('tells how far a call is, and logs from the level on that the client set; before, from info on', async () => {
    const { client } = await open();
    const chatty = { name: 'chatty', arguments: {}, _meta: { progressToken: 'p' } };
    const loud = await client.open('tools/call', chatty);
    await loud.outcome();
    expect(loud.messages.map(({ method }: Loose) => method)).toEqual([
      'notifications/message',
      'notifications/progress',
      undefined,
    ]);
    expect(await client.result('logging/setLevel', { level: 'error' })).toEqual({});
    const quiet = await client.open('tools/call', chatty);
    await quiet.outcome();
    expect(quiet.messages.map(({ method }: Loose) => method)).toEqual(['notifications/progress', undefined]);
    expect(await client.request('logging/setLevel', { level: 'loud' })).toMatchObject({ error: { code: -32602 } });
  });

  it('is told when a client takes its call back', async () => {
    const { client, waits } = await open();
    const call = client.open('tools/call', { name: 'wait', arguments: {} }, { id: 'w' });
    await expect.poll(() => waits.running).toBe(1);
    await client.notify('notifications/cancelled', { requestId: 'w' });
    await expect.poll(() => waits.aborted).toBe(1);
    expect((await call).status).toBe(202);
  });

  it('tells who listens what has changed, and of a resource only who asked for it', async () => {
    const { client, mcp } = await open();
    const stream = await client.listen();
    await mcp.server.sendResourceUpdated({ uri: 'note://today' });
    mcp.sendResourceListChanged();
    await stream.next(({ method }) => method === 'notifications/resources/list_changed');
    expect(await client.result('resources/subscribe', { uri: 'note://today' })).toEqual({});
    await mcp.server.sendResourceUpdated({ uri: 'note://today' });
    await stream.next(({ method }) => method === 'notifications/resources/updated');
    await client.result('resources/unsubscribe', { uri: 'note://today' });
    await mcp.server.sendResourceUpdated({ uri: 'note://today' });
    mcp.sendToolListChanged();
    await stream.next(({ method }) => method === 'notifications/tools/list_changed');
    expect(stream.messages.filter(({ method }) => method === 'notifications/resources/updated')).toHaveLength(1);
  });
});
