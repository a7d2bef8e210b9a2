import { describe, expect, it } from 'vitest';
import { served } from '../../fixtures/served.ts';
import { addSessionTools } from '../../fixtures/session-tools.ts';
import { ASKED, openSession, type Incoming } from '../../fixtures/session-wire.ts';
import type { Loose } from '../../wire-schemas.ts';

const RELATED = 'io.modelcontextprotocol/related-task';
const text = (result: Loose): string => result.content[0].text as string;
const YES = { action: 'accept', content: { go: true } };
const asks = ({ method }: Loose) => method === 'elicitation/create';
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a question of a task of revision 2025-11-25', () => {
  it('comes to who waits for the result, and says to which task it belongs (L-28 to L-31, L-35, CASES 20)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('publish', { page: 'home' });
    await client.until(taskId, ({ status }) => status === 'input_required');
    const wait = await client.open('tasks/result', { taskId });
    const question = await wait.next(asks);
    expect(question.params).toMatchObject({ mode: 'form', _meta: { [RELATED]: { taskId } } });
    expect(await client.respond(question.id, YES)).toEqual({ status: 202, json: undefined });
    expect(text((await wait.outcome()).result)).toBe('https://pages.example/home');
  });

  it('comes to who only listens (L-31, CASES 20), and on that stream alone', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const stream = await client.listen();
    const { taskId } = await client.begin('publish', { page: 'home' });
    const question = await stream.next(asks);
    expect(question.params._meta).toEqual({ [RELATED]: { taskId } });
    const wait = await client.open('tasks/result', { taskId });
    await pause(100);
    expect(wait.messages).toEqual([]);
    await client.respond(question.id, YES);
    expect(text((await wait.outcome()).result)).toBe('https://pages.example/home');
    expect(stream.messages.filter(asks)).toHaveLength(1);
  });

  it('comes on the next stream where the one it went out on was lost before the answer', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('publish', { page: 'home' });
    const first = await client.open('tasks/result', { taskId });
    const lost = await first.next(asks);
    first.cut();
    await first.over;
    const second = await client.open('tasks/result', { taskId });
    const question = await second.next(asks);
    expect(question.id).not.toBe(lost.id);
    await client.respond(question.id, YES);
    expect(text((await second.outcome()).result)).toBe('https://pages.example/home');
    // The answer to the one that was lost comes too late, and does no harm.
    expect((await client.respond(lost.id, YES)).status).toBe(202);
  });

  it('waits while there is no way to the client, and is answered once there is one', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('publish', { page: 'home' });
    const deaf = client.request('tasks/result', { taskId }, { accept: 'application/json' });
    await client.until(taskId, ({ status }) => status === 'input_required');
    const stream = await client.listen();
    await client.respond((await stream.next(asks)).id, YES);
    expect(text((await deaf).result)).toBe('https://pages.example/home');
  });

  it('stays open while another one is answered, and neither hides the other (CASES 21)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('two-questions');
    const wait = await client.open('tasks/result', { taskId });
    const first = await wait.next(({ params }) => params?.message === 'first?');
    const second = await wait.next(({ params }) => params?.message === 'second?');
    await client.respond(first.id, YES);
    expect(await client.result('tasks/get', { taskId })).toMatchObject({ status: 'input_required' });
    await client.respond(second.id, { action: 'decline' });
    expect(text((await wait.outcome()).result)).toBe('accept,decline');
  });

  it('is put again where the answer to it is none', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('publish', { page: 'home' });
    const wait = await client.open('tasks/result', { taskId });
    const first = await wait.next(asks);
    const refused = await client.respond(first.id, { action: 'accept', content: { go: 'yes' } });
    expect(refused).toMatchObject({ status: 400, json: { error: { code: -32602 } } });
    const second = await wait.next((message) => asks(message) && message.id !== first.id);
    await client.respond(second.id, YES);
    expect(text((await wait.outcome()).result)).toBe('https://pages.example/home');
  });

  it('is cancelled where the client answers with an error', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const form = await client.begin('publish', { page: 'home' });
    const wait = await client.open('tasks/result', { taskId: form.taskId });
    await client.respondError((await wait.next(asks)).id, { code: -32603, message: 'no screen' });
    expect(text((await wait.outcome()).result)).toBe('home was not published');
    const sampled = await client.begin('sampled');
    const second = await client.open('tasks/result', { taskId: sampled.taskId });
    const question = await second.next(({ method }) => method === 'sampling/createMessage');
    await client.respondError(question.id, { code: -1, message: 'the user said no' });
    expect(text((await second.outcome()).result)).toBe('no poem: InputWithdrawn');
  });

  it('is taken back where nobody wants the answer any more', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('impatient');
    const wait = await client.open('tasks/result', { taskId });
    const question = await wait.next(asks);
    const back = await wait.next(({ method }) => method === 'notifications/cancelled');
    expect(back.params).toEqual({ requestId: question.id, _meta: { [RELATED]: { taskId } } });
    expect(text((await wait.outcome()).result)).toBe('InputTimeout');
  });

  it('of a subtask comes as one of the task that the client knows, and its task cannot be seen (L-41, S-15)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('parent');
    await client.until(taskId, ({ status }) => status === 'input_required');
    const wait = await client.open('tasks/result', { taskId });
    const question = await wait.next(asks);
    expect(question.params._meta).toEqual({ [RELATED]: { taskId } });
    await client.respond(question.id, YES);
    expect(text((await wait.outcome()).result)).toBe('accept');
  });

  it('is a wish for a task of the client only where that declared to make them (L-4, L-53)', async () => {
    const { url } = await served(addSessionTools);
    const plain = await openSession(url);
    const tasks = { requests: { elicitation: { create: {} } } };
    const hosting = await openSession(url, { capabilities: { ...ASKED, tasks } });
    for (const [client, wishes] of [
      [plain, false],
      [hosting, true],
    ] as const) {
      const stream = await client.listen();
      await client.begin('publish', { page: 'home' });
      expect('task' in (await stream.next(asks)).params).toBe(wishes);
      await client.begin('sampled');
      const sampling = await stream.next(({ method }) => method === 'sampling/createMessage');
      expect(sampling.params).not.toHaveProperty('task');
    }
  });

  it('is answered by a task of the client, which is read until it has ended (L-53)', async () => {
    const { url } = await served(addSessionTools);
    const tasks = { requests: { elicitation: { create: {} } } };
    const client = await openSession(url, { capabilities: { ...ASKED, tasks }, check: () => undefined });
    const stream = await client.listen();
    const { taskId } = await client.begin('publish', { page: 'home' });
    const question = await stream.next(asks);
    const theirs = { taskId: 'theirs', status: 'working', pollInterval: 50, ttl: null };
    await client.respond(question.id, { task: theirs });
    const get = await stream.next(({ method }) => method === 'tasks/get');
    expect(get.params).toEqual({ taskId: 'theirs' });
    await client.respond(get.id, { ...theirs, status: 'completed' });
    const fetched = await stream.next(({ method }) => method === 'tasks/result');
    expect(fetched.params).toEqual({ taskId: 'theirs' });
    expect(await client.result('tasks/get', { taskId })).toMatchObject({ status: 'input_required' });
    await client.respond(fetched.id, YES);
    expect(text(await client.result('tasks/result', { taskId }))).toBe('https://pages.example/home');
  });

  it('is not put to a client that did not declare that it can be asked (N-10)', async () => {
    const { url } = await served(addSessionTools);
    const maker = await openSession(url);
    const other = await openSession(url, { capabilities: {} });
    const { taskId } = await maker.begin('publish', { page: 'home' });
    const wait = await other.open('tasks/result', { taskId });
    await other.until(taskId, ({ status }) => status === 'input_required');
    await pause(100);
    expect(wait.messages.filter(asks)).toEqual([]);
    wait.cut();
  });
});

describe('a call of revision 2025-11-25 that makes no task', () => {
  it('asks on its own stream, without a word of a task', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const call = await client.open('tools/call', { name: 'publish', arguments: { page: 'home' } });
    const question = await call.next(asks);
    expect(question.params).not.toHaveProperty('_meta');
    await client.respond(question.id, YES);
    expect(text((await call.outcome()).result)).toBe('https://pages.example/home');
    await call.over;
    expect(call.messages).toHaveLength(2);
  });

  it('asks also where its tool never makes one, or asks before it makes one', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const named = { action: 'accept', content: { name: 'Ann' } };
    const plain = await client.open('tools/call', { name: 'asking-plain' });
    await client.respond((await plain.next(asks)).id, named);
    expect(text((await plain.outcome()).result)).toBe('Hello, Ann');
    const before = await client.open('tools/call', { name: 'named', task: {} });
    await client.respond((await before.next(asks)).id, named);
    const { task } = (await before.outcome()).result;
    expect(text(await client.result('tasks/result', { taskId: task.taskId }))).toBe('Hello, Ann');
  });

  it('goes on when its stream was cut, and its client comes back for the answer (T-8)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const call = await client.open('tools/call', { name: 'publish', arguments: { page: 'home' } });
    const question = await call.next(asks);
    call.cut();
    await call.over;
    await client.respond(question.id, YES);
    const rest: Incoming = await client.listen(call.ids.at(-1));
    const response = await rest.next(({ id }) => id === call.id);
    expect(text(response.result)).toBe('https://pages.example/home');
    expect(rest.messages.filter(asks)).toEqual([]);
  });

  it('ends, and its work with it, when the client takes it back', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const call = await client.open('tools/call', { name: 'publish', arguments: { page: 'home' } });
    const question = await call.next(asks);
    await client.notify('notifications/cancelled', { requestId: call.id });
    await call.over;
    expect(call.messages.filter(({ method }: Loose) => method === undefined)).toEqual([]);
    expect((await client.respond(question.id, YES)).status).toBe(202);
  });
});
