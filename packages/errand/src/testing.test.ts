import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { createErrand, type Errand } from './errand.ts';
import { LOCAL } from './task/principal.ts';
import { testClient } from './testing.ts';

const NAME = z.object({ name: z.string() });

function server(define: (errand: Errand) => unknown): Errand {
  const errand = createErrand({ name: 'tested', version: '1.0.0', log: pino({ level: 'silent' }) });
  define(errand);
  onTestFinished(() => errand.close());
  return errand;
}

const greeting = (errand: Errand): unknown =>
  errand.tool('greet', { task: 'always' }, async (_, task) => {
    const { content } = await task.elicit('who', { message: 'Who?', schema: NAME });
    const { content: more } = await task.elicit('more', { message: 'And?', schema: NAME });
    return `hello ${content?.name} and ${more?.name}`;
  });
const answers = {
  who: { action: 'accept', content: { name: 'Ada' } },
  more: { action: 'accept', content: { name: 'Bob' } },
};

describe('a test client', () => {
  it('sees a call through: takes the task, answers by key, and gives the tool result', async () => {
    const errand = server(greeting);
    const result = { content: [{ type: 'text', text: 'hello Ada and Bob' }] };
    expect(await testClient(errand).run('greet', {}, answers)).toMatchObject(result);
    // Without tasks the same questions come as rounds of the call.
    expect(await testClient(errand, { tasks: false }).run('greet', {}, answers)).toMatchObject(result);
  });

  it('gives plain results as they are', async () => {
    const errand = server((errand) => errand.tool('add', {}, ({ a, b }) => String(Number(a) + Number(b))));
    expect(await testClient(errand).call('add', { a: 1, b: 2 })).toMatchObject({
      resultType: 'complete',
      content: [{ type: 'text', text: '3' }],
    });
  });

  it('reads, answers and cancels tasks', async () => {
    const client = testClient(server(greeting));
    const { taskId } = (await client.call('greet')) as { taskId: string };
    const asking = await client.until(taskId, 'input_required');
    expect(asking).toMatchObject({ inputRequests: { who: { method: 'elicitation/create' } } });
    await client.answer(taskId, { who: answers.who });
    await client.cancel(taskId);
    expect(await client.read(taskId)).toMatchObject({ taskId, status: 'cancelled' });
  });

  it('throws JSON-RPC errors, and gives them as they are where it is asked to', async () => {
    const client = testClient(server(() => undefined));
    await expect(client.call('none')).rejects.toMatchObject({ name: 'RpcError', code: -32602 });
    expect(await client.request('tools/call', { name: 'none' })).toMatchObject({ id: 2, error: { code: -32602 } });
    expect(await client.request('tools/list', {})).toMatchObject({ id: 3, result: { tools: [] } });
  });

  it('is anonymous unless it is told who it is, and then sees its own tasks only', async () => {
    const errand = server(greeting);
    const { taskId } = (await testClient(errand).call('greet')) as { taskId: string };
    await expect(testClient(errand, { principal: LOCAL }).read(taskId)).rejects.toMatchObject({ code: -32602 });
    expect(await testClient(errand).read(taskId)).toMatchObject({ taskId });
  });

  it('declares what it is told to declare', async () => {
    const errand = server((errand) =>
      errand.tool('can', {}, (_, task) =>
        (['elicitation', 'sampling', 'roots'] as const).filter((kind) => task.can(kind)).join(),
      ),
    );
    const text = async (options?: Parameters<typeof testClient>[1]) =>
      (await testClient(errand, options).run('can'))['content'];
    expect(await text()).toMatchObject([{ text: 'elicitation,sampling,roots' }]);
    expect(await text({ capabilities: { roots: {} } })).toMatchObject([{ text: 'roots' }]);
  });

  it('says how a task stands that does not come to what it waits for', async () => {
    const client = testClient(server(greeting));
    const { taskId } = (await client.call('greet')) as { taskId: string };
    await expect(client.until(taskId, 'completed', 30)).rejects.toThrow(/the task is not completed: .*input_required/);
    await client.cancel(taskId);
    await expect(client.until(taskId, ['completed', 'failed'])).rejects.toThrow(
      /the task is not completed or failed: .*cancelled/,
    );
  });

  it('says how a call failed', async () => {
    const errand = server((errand) =>
      errand.tool('fail', { task: 'always' }, async (_, task) => {
        await task.step('a', () => null);
        return undefined as never;
      }),
    );
    await expect(testClient(errand).run('fail')).rejects.toThrow(/the task is .*"status":"failed".*-32603/);
  });
});
