import { describe, expect, it } from 'vitest';
import { addMarchTools } from '../../fixtures/march-tools.ts';
import { begin, hasEnded, isIncomplete, openMarch, until } from '../../fixtures/march-wire.ts';
import { served } from '../../fixtures/served.ts';

const RELATED = 'io.modelcontextprotocol/related-task';
const YES = { action: 'accept', content: { go: true } };

describe('subtasks in the March drafts', () => {
  it('are named by the task above, and name it; each has a result of its own (S-1 to S-6, S-9, S-10, S-14, R-8)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const taskId = await begin(client, 'pieces');
    const parent = await until(client, taskId, ({ childTaskIds }) => childTaskIds?.length === 2);
    const [a, b] = await Promise.all(
      parent.childTaskIds.map((child: string) => client.result('tasks/get', { taskId: child })),
    );
    for (const child of [a, b]) expect(child.parentTaskId).toBe(taskId);
    expect(b._meta).toEqual({ 'dev.errand/tasks': { after: ['a'] } });
    const ended = await until(client, taskId, hasEnded);
    expect(ended).toMatchObject({ status: 'completed', childTaskIds: parent.childTaskIds });
    for (const child of parent.childTaskIds) {
      const done = await client.result('tasks/continue', { taskId: child });
      expect(done).toMatchObject({ status: 'completed', result: { content: [{ text: 'piece' }] } });
      expect(Date.parse(done.createdAt) + done.ttl).toBeLessThanOrEqual(Date.parse(ended.createdAt) + ended.ttl);
    }
  });

  it('ask for themselves, and do not change what the task above says of itself (S-8, S-13)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const taskId = await begin(client, 'parent');
    const { childTaskIds } = await until(client, taskId, (task) => task.childTaskIds !== undefined);
    const asked = await until(client, childTaskIds[0], isIncomplete);
    expect(asked._meta).toEqual({ [RELATED]: { taskId: childTaskIds[0], parentTaskId: taskId } });
    expect(await client.result('tasks/continue', { taskId })).toMatchObject({ status: 'working' });
    await client.result('tasks/continue', { taskId: childTaskIds[0], inputResponses: { approve: YES } });
    expect(await until(client, taskId, hasEnded)).toMatchObject({ status: 'completed' });
  });

  it('end with the task above (S-11, S-12)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url);
    const taskId = await begin(client, 'parent');
    const { childTaskIds } = await until(client, taskId, (task) => task.childTaskIds !== undefined);
    await client.result('tasks/cancel', { taskId });
    expect(await client.result('tasks/get', { taskId: childTaskIds[0] })).toMatchObject({ status: 'cancelled' });
  });

  it('ask by the task above where the client does not understand them (S-15)', async () => {
    const { url } = await served(addMarchTools);
    const client = await openMarch(url, { mrtr: {}, progress: {} });
    const taskId = await begin(client, 'parent');
    const asked = await until(client, taskId, isIncomplete);
    expect(Object.keys(asked.inputRequests)).toEqual(['one/approve']);
    await client.result('tasks/continue', { taskId, inputResponses: { 'one/approve': YES } });
    const ended = await until(client, taskId, hasEnded);
    expect(ended).toMatchObject({ status: 'completed' });
    expect(ended).not.toHaveProperty('childTaskIds');
  });
});
