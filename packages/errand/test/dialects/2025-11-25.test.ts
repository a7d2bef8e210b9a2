import { describe, expect, it } from 'vitest';
import { addLifeTools } from '../fixtures/life-tools.ts';
import { served } from '../fixtures/served.ts';
import { openSession } from '../fixtures/session-wire.ts';

const text = (result: { content: { text: string }[] }) => result.content[0]!.text;

describe('a session of revision 2025-11-25', () => {
  it('is opened by initialize, and says what tasks there are (L-1, L-2, N-1, N-6)', async () => {
    const { url } = await served(addLifeTools);
    const client = await openSession(url);
    expect(client.initialized).toMatchObject({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } },
      serverInfo: { name: 'errand-test' },
    });
    expect(client.initialized.capabilities.tasks).not.toHaveProperty('list');
    expect(client.session).toMatch(/^[\x21-\x7e]+$/);
    expect(await client.result('ping')).toEqual({});
  });

  it('calls a tool, and is asked meanwhile on the stream of the call', async () => {
    const { url } = await served(addLifeTools);
    const client = await openSession(url);
    expect(text(await client.result('tools/call', { name: 'echo', arguments: { text: 'hi' } }))).toBe('hi');
    const call = await client.open('tools/call', { name: 'publish', arguments: { page: 'home' } });
    const question = await call.next(({ method }) => method === 'elicitation/create');
    expect(question.params._meta).toBeUndefined();
    expect((await client.respond(question.id, { action: 'accept', content: { go: true } })).status).toBe(202);
    const { result } = await call.outcome();
    expect(text(result)).toBe('https://pages.example/home');
    await call.over;
    expect(call.messages).toHaveLength(2);
  });

  it('makes a task where the client asks for one, and waits for its result', async () => {
    const { url } = await served(addLifeTools);
    const client = await openSession(url);
    const task = await client.begin('publish', { page: 'home' });
    expect(task.status).toBe('working');
    const wait = await client.open('tasks/result', { taskId: task.taskId });
    const question = await wait.next(({ method }) => method === 'elicitation/create');
    expect(question.params._meta).toEqual({ 'io.modelcontextprotocol/related-task': { taskId: task.taskId } });
    await client.until(task.taskId, ({ status }) => status === 'input_required');
    await client.respond(question.id, { action: 'accept', content: { go: true } });
    expect(text((await wait.outcome()).result)).toBe('https://pages.example/home');
    await client.until(task.taskId, ({ status }) => status === 'completed');
  });
});
