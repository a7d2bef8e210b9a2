import { describe, expect, it } from 'vitest';
import { served } from '../../fixtures/served.ts';
import { addSessionTools } from '../../fixtures/session-tools.ts';
import { openSession } from '../../fixtures/session-wire.ts';
import type { Loose } from '../../wire-schemas.ts';

const RELATED = 'io.modelcontextprotocol/related-task';
const isProgress = ({ method }: Loose) => method === 'notifications/progress';
const isStatus = ({ method }: Loose) => method === 'notifications/tasks/status';
const rises = (numbers: number[]) => numbers.every((number, at) => at === 0 || number > numbers[at - 1]!);

describe('in revision 2025-11-25', () => {
  it('the progress token of a call is good for the life of its task, and not longer (L-39, CASES 24)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const stream = await client.listen();
    const { taskId } = await client.begin('counting', {}, {}, { progressToken: 'p' });
    await stream.next((message) => isStatus(message) && message.params.status === 'completed');
    await new Promise((resolve) => setTimeout(resolve, 150));
    const told = stream.messages.filter(isProgress);
    expect(told.length).toBeGreaterThan(0);
    expect(rises(told.map(({ params }) => params.progress))).toBe(true);
    for (const { params } of told)
      expect(params).toMatchObject({ progressToken: 'p', total: 3, _meta: { [RELATED]: { taskId } } });
    // Nothing comes after the end.
    expect(stream.messages.findLastIndex(isProgress)).toBeLessThan(stream.messages.findLastIndex(isStatus));
  });

  it('progress comes to who waits for the result, too', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('counting', {}, {}, { progressToken: 7 });
    const wait = await client.open('tasks/result', { taskId });
    await wait.outcome();
    expect(wait.messages.filter(isProgress).map(({ params }) => params.progressToken)).toContain(7);
    await wait.over;
    expect(wait.messages.at(-1)).toHaveProperty('result');
  });

  it('nobody hears of the progress of a call that named no token', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const stream = await client.listen();
    const { taskId } = await client.begin('counting');
    await client.result('tasks/result', { taskId });
    expect(stream.messages.filter(isProgress)).toEqual([]);
  });

  it('a call that makes no task tells how far it is on its own stream', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const call = await client.open('tools/call', { name: 'counting', _meta: { progressToken: 'q' } });
    await call.outcome();
    const told = call.messages.filter(isProgress);
    expect(rises(told.map(({ params }) => params.progress))).toBe(true);
    for (const { params } of told) expect(params).not.toHaveProperty('_meta');
    expect(call.messages.at(-1)).toHaveProperty('result');
  });

  it('who listens is told each status, as get would, without being asked (L-37, L-38)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const stream = await client.listen();
    const { taskId } = await client.begin('publish', { page: 'home' });
    const asking = await stream.next((message) => isStatus(message) && message.params.status === 'input_required');
    expect(asking.params).toEqual(await client.result('tasks/get', { taskId }));
    const question = stream.messages.find(({ method }) => method === 'elicitation/create');
    await client.respond(question.id, { action: 'accept', content: { go: true } });
    const done = await stream.next((message) => isStatus(message) && message.params.status === 'completed');
    expect(done.params).toEqual(await client.result('tasks/get', { taskId }));
  });
});
