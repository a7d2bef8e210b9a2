import { describe, expect, it } from 'vitest';
import { served } from '../../fixtures/served.ts';
import { sessionPipe } from '../../fixtures/session-pipe.ts';
import { addSessionTools } from '../../fixtures/session-tools.ts';
import { ASKED, openSession } from '../../fixtures/session-wire.ts';
import type { Loose } from '../../wire-schemas.ts';

const asks = ({ method }: Loose) => method === 'elicitation/create';

describe('a server that closes', { timeout: 20_000 }, () => {
  it('ends streams that can be gone on with, without an answer that is none', async () => {
    const { url, restart } = await served(addSessionTools);
    const client = await openSession(url);
    const stream = await client.listen();
    const { taskId } = await client.begin('endless');
    const wait = await client.open('tasks/result', { taskId });
    await restart();
    await Promise.all([stream.over, wait.over]);
    expect(wait.messages.filter(({ method }: Loose) => method === undefined)).toEqual([]);
  });

  it('answers who waits without a stream that it closes', async () => {
    const { url, restart } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('endless');
    const wait = client.request('tasks/result', { taskId }, { accept: 'application/json' });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await restart();
    expect((await wait).error).toMatchObject({ code: -31003 });
  });

  it('hands off a call that it holds, also one that waits for an answer', async () => {
    const { url, restart } = await served(addSessionTools);
    const client = await openSession(url);
    const call = await client.open('tools/call', { name: 'publish', arguments: { page: 'home' } });
    const question = await call.next(asks);
    await restart();
    const { result } = await call.outcome();
    expect(result.structuredContent).toMatchObject({ status: 'input_required', questions: { approve: {} } });
    // Whatever server there is takes the answer.
    await client.respond(question.id, { action: 'accept', content: { go: true } });
    const { taskId } = result.structuredContent;
    const followed = await client.result('tools/call', { name: 'task_status', arguments: { taskId } });
    expect(followed.content[0].text).toBe('https://pages.example/home');
  });

  it('over stdio answers whoever waits', async () => {
    const pipe = await sessionPipe();
    const clientInfo = { name: 'errand-tests', version: '1.0.0' };
    await pipe.request('initialize', { protocolVersion: '2025-11-25', capabilities: ASKED, clientInfo });
    const { task } = (await pipe.request('tools/call', { name: 'endless', task: {} })).result;
    const wait = pipe.send('tasks/result', { taskId: task.taskId });
    await pipe.request('ping');
    pipe.close();
    expect((await pipe.next(({ id }) => id === wait)).error).toMatchObject({ code: -31003 });
  });
});
