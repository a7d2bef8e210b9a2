import { describe, expect, it } from 'vitest';
import { ASKED } from '../fixtures/session-wire.ts';
import { frame, TASK_CLIENT } from '../fixtures/frames.ts';
import { OPT_IN } from '../fixtures/march-wire.ts';
import { sessionPipe } from '../fixtures/session-pipe.ts';
import type { Loose } from '../wire-schemas.ts';

const clientInfo = { name: 'errand-tests', version: '1.0.0' };
const older = { protocolVersion: '2025-11-25', capabilities: ASKED, clientInfo };
const march = {
  protocolVersion: 'DRAFT-2026-v1',
  capabilities: { ...ASKED, experimental: { [OPT_IN]: {} } },
  clientInfo,
};
const asks = ({ method }: Loose) => method === 'elicitation/create';

describe('over stdio', { timeout: 30_000 }, () => {
  it('the first message says which revision is spoken: initialize (N-5), with a list of tasks (L-51)', async () => {
    const pipe = await sessionPipe();
    const { result } = await pipe.request('initialize', older);
    expect(result).toMatchObject({ protocolVersion: '2025-11-25', capabilities: { tasks: { list: {} } } });
    pipe.write({ method: 'notifications/initialized' });
    expect((await pipe.request('ping')).result).toEqual({});
    const made = await pipe.request('tools/call', { name: 'endless', task: {} });
    expect((await pipe.request('tasks/list')).result.tasks).toMatchObject([{ taskId: made.result.task.taskId }]);
    expect((await pipe.request('tasks/list', { cursor: 'x' })).error.code).toBe(-32602);
  });

  it('or a message that speaks for itself; and a probe leaves a client as it is (N-2, N-5)', async () => {
    const pipe = await sessionPipe();
    pipe.write(frame('probe', 'server/discover', {}, TASK_CLIENT));
    expect(await pipe.next(({ id }) => id === 'probe')).toMatchObject({
      result: { supportedVersions: ['2026-07-28'] },
    });
    expect((await pipe.request('initialize', older)).result.protocolVersion).toBe('2025-11-25');
    pipe.write(frame('modern', 'tools/list', {}, TASK_CLIENT));
    expect((await pipe.next(({ id }) => id === 'modern')).result.resultType).toBe('complete');
    expect((await pipe.request('tools/list')).result).not.toHaveProperty('resultType');
  });

  it('a request before any of these is told what it lacks', async () => {
    const pipe = await sessionPipe();
    expect((await pipe.request('tools/list')).error.code).toBe(-32602);
  });

  it('a task asks, tells how it is, and how far it is, without a stream to wait on', async () => {
    const pipe = await sessionPipe();
    await pipe.request('initialize', older);
    const made = await pipe.request('tools/call', { name: 'publish', arguments: { page: 'home' }, task: {} });
    const { taskId } = made.result.task;
    const question = await pipe.next(asks);
    expect(pipe.messages.indexOf(made)).toBeLessThan(pipe.messages.indexOf(question));
    const wait = pipe.send('tasks/result', { taskId });
    pipe.write({ id: question.id, result: { action: 'accept', content: { go: true } } });
    expect((await pipe.next(({ id }) => id === wait)).result.structuredContent).toMatchObject({ size: 400 });
    await pipe.next(({ method, params }) => method === 'notifications/tasks/status' && params.status === 'completed');
    expect(pipe.messages.filter(asks)).toHaveLength(1);
  });

  it('a question is put again after an answer that is none', async () => {
    const pipe = await sessionPipe();
    await pipe.request('initialize', older);
    const call = pipe.send('tools/call', { name: 'publish', arguments: { page: 'home' } });
    const first = await pipe.next(asks);
    pipe.write({ id: first.id, result: { action: 'perhaps' } });
    const second = await pipe.next((message) => asks(message) && message.id !== first.id);
    pipe.write({ id: second.id, result: { action: 'decline' } });
    expect((await pipe.next(({ id }) => id === call)).result.content[0].text).toBe('home was not published');
  });

  it('a wait is taken back, and its task goes on (CASES 22)', async () => {
    const pipe = await sessionPipe();
    await pipe.request('initialize', older);
    const { taskId } = (await pipe.request('tools/call', { name: 'endless', task: {} })).result.task;
    const wait = pipe.send('tasks/result', { taskId });
    pipe.write({ method: 'notifications/cancelled', params: { requestId: wait } });
    expect((await pipe.request('tasks/get', { taskId })).result.status).toBe('working');
    expect(pipe.messages.filter(({ id }) => id === wait)).toEqual([]);
  });

  it('a new process goes on with the tasks of the one before (CASES 2)', async () => {
    const before = await sessionPipe();
    await before.request('initialize', older);
    const made = await before.request('tools/call', { name: 'publish', arguments: { page: 'home' }, task: {} });
    const { taskId } = made.result.task;
    await before.next(asks);
    await before.leave();
    const after = await sessionPipe(before.store);
    await after.request('initialize', older);
    const wait = after.send('tasks/result', { taskId });
    const question = await after.next(asks);
    after.write({ id: question.id, result: { action: 'accept', content: { go: true } } });
    expect((await after.next(({ id }) => id === wait)).result.structuredContent).toMatchObject({ size: 400 });
  });

  it('the drafts of March are spoken with who opts in', async () => {
    const pipe = await sessionPipe();
    expect((await pipe.request('initialize', march)).result.protocolVersion).toBe('DRAFT-2026-v1');
    const { task } = (await pipe.request('tools/call', { name: 'publish', arguments: { page: 'home' } })).result;
    await pipe.next(({ params }) => params?.status === 'input_required');
    const { taskId } = task;
    const asked = (await pipe.request('tasks/continue', { taskId })).result;
    expect(asked).toMatchObject({ result_type: 'incomplete', inputRequests: { approve: {} } });
    const inputResponses = { approve: { action: 'accept', content: { go: true } } };
    await pipe.request('tasks/continue', { taskId, inputResponses });
    const done = await pipe.next(({ params }) => params?.status === 'completed');
    expect(done.params.result.structuredContent).toMatchObject({ size: 400 });
  });
});
