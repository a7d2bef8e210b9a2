import { describe, expect, it } from 'vitest';
import { addMarchTools } from '../../fixtures/march-tools.ts';
import { begin, hasEnded, openMarch, until } from '../../fixtures/march-wire.ts';
import { served } from '../../fixtures/served.ts';
import type { Loose } from '../../wire-schemas.ts';

const RELATED = 'io.modelcontextprotocol/related-task';
const NAMED = { action: 'accept', content: { name: 'Ada' } };

describe('the side channel of the March drafts', () => {
  const asks = ({ method }: Loose) => method === 'elicitation/create';

  it('asks on the stream of continue, before its answer, and is answered by responses (K-15, K-16, R-9)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url, { subtasks: {}, progress: {} });
    const taskId = await begin(client, 'hello_world');
    await until(client, taskId, ({ status }) => status === 'input_required');
    // It was put to the client by one of those; now nothing is sent a second time.
    const again = await client.open('tasks/continue', { taskId });
    expect((await again.outcome()).result).toMatchObject({ taskId, status: 'input_required' });
  });

  it('asks once, be it on the stream of continue or on that of the session', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url, { progress: {} });
    const taskId = await begin(client, 'hello_world');
    let asked: Loose;
    for (const end = Date.now() + 5000; asked === undefined && Date.now() < end;) {
      const continued = await client.open('tasks/continue', { taskId });
      const { result } = await continued.outcome();
      expect(result.taskId).toBe(taskId);
      asked = continued.messages.find(asks);
      if (asked) expect(continued.messages.indexOf(asked)).toBeLessThan(continued.messages.length - 1);
    }
    expect(asked.params._meta).toEqual({ [RELATED]: { taskId } });
    expect((await client.respond(asked.id, NAMED)).status).toBe(202);
    expect(await until(client, taskId, hasEnded)).toMatchObject({ result: { content: [{ text: 'Hello, Ada!' }] } });
    const stream = await client.listen();
    const second = await begin(client, 'hello_world');
    const question = await stream.next(asks);
    expect(question.params._meta).toEqual({ [RELATED]: { taskId: second } });
    await client.respond(question.id, NAMED);
    expect(await until(client, second, hasEnded)).toMatchObject({ status: 'completed' });
  });

  it('is answered by a task of the client as well, which is continued until it has ended (U-6, U-7, K-21)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url, { progress: {} });
    const stream = await client.listen();
    const taskId = await begin(client, 'hello_world');
    const question = await stream.next(asks);
    const theirs = { taskId: 'theirs', status: 'working', pollInterval: 50, ttl: null };
    await client.respond(question.id, { task: theirs });
    const first = await stream.next(({ method }) => method === 'tasks/continue');
    await client.respond(first.id, theirs);
    const second = await stream.next(({ method, id }) => method === 'tasks/continue' && id !== first.id);
    expect(second.params).toEqual({ taskId: 'theirs' });
    await client.respond(second.id, { ...theirs, status: 'completed', result: NAMED });
    expect(await until(client, taskId, hasEnded)).toMatchObject({ result: { content: [{ text: 'Hello, Ada!' }] } });
  });

  it('asks on the stream of a call before there is a task', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url, { subtasks: {} });
    const call = await client.open('tools/call', { name: 'named', arguments: {} });
    await client.respond((await call.next(asks)).id, NAMED);
    const { task } = (await call.outcome()).result;
    expect(await until(client, task.taskId, hasEnded)).toMatchObject({ result: { content: [{ text: 'Hello, Ada' }] } });
  });
});
