import { pino } from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { ToolOptions } from '../../engine/tool.ts';
import { createErrand, type Errand } from '../../errand.ts';
import type { Store } from '../../store.ts';
import { memory } from '../../stores/memory.ts';
import type { Task } from '../../task/task.ts';
import { testClient } from '../../testing.ts';

/** A server; of those on one store the first one to start owns the tasks. */
async function server(store: Store, define: (errand: Errand) => void) {
  const errand = createErrand({ name: 'front', version: '1.0.0', store, log: pino({ level: 'silent' }) });
  define(errand);
  await errand.start();
  onTestFinished(() => errand.close());
  return { errand, client: testClient(errand), plain: testClient(errand, { tasks: false }) };
}

/** Two servers with a tool that takes its time, the second one a front end, and what the store has heard. */
async function pair(hold: Pick<ToolOptions, 'holdFor'> = {}) {
  const store = memory();
  const tasks = new Map<string, Task>();
  store.subscribe((task) => tasks.set(task.id, task));
  let finish = () => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const owner = await server(store, (errand) =>
    errand.tool('slow', { patience: 50, ...hold }, async (_, task) =>
      task.step('wait', () => finished.then(() => 'done')),
    ),
  );
  const never = (_args: unknown, _task: unknown) => {
    throw new Error('a front end ran a handler');
  };
  const front = await server(store, (errand) =>
    errand.tool('slow', { patience: 50, ...hold }, never).tool('new', {}, never),
  );
  return { store, owner, front, tasks, finish };
}

it('a call that outlasts patience becomes the task that the owner runs already', async () => {
  const { front, tasks, finish } = await pair();
  const { taskId } = await front.client.call('slow');
  expect([...tasks.keys()]).toEqual([taskId]);
  finish();
  expect(await front.client.until(taskId as string, 'completed')).toMatchObject({
    result: { content: [{ text: 'done' }] },
  });
});

it('a call of a tool that the owner does not have says so, and leaves nothing to be done', async () => {
  const { front, tasks } = await pair();
  await expect(front.client.call('new')).rejects.toMatchObject({
    code: -32603,
    message: 'the process that runs tasks says: no tool "new" is registered here',
  });
  await vi.waitFor(() => expect([...tasks.values()]).toMatchObject([{ status: 'cancelled' }]));
});

it('a task that somebody cancels ends the call that waits for it', async () => {
  const { owner, front, tasks } = await pair();
  const call = front.plain.call('slow');
  const refused = expect(call).rejects.toMatchObject({ message: 'the call was cancelled' });
  await vi.waitFor(() => expect(tasks.size).toBe(1));
  await owner.client.cancel([...tasks.keys()][0]!);
  await refused;
});

it('a held call of a front end is handed off in time, to the task that the owner runs', async () => {
  const { front, tasks, finish } = await pair({ holdFor: 50 });
  const { structuredContent } = await front.plain.call('slow');
  const { taskId } = structuredContent as { taskId: string };
  expect([...tasks.keys()]).toEqual([taskId]);
  const status = front.plain.call('task_status', { taskId });
  finish();
  expect(await status).toMatchObject({ content: [{ text: 'done' }] });
});

it('a call that a front end holds when it closes is handed off, and its task goes on', async () => {
  const { store, owner, front, finish } = await pair();
  vi.spyOn(store, 'close').mockResolvedValueOnce(); // a front end closes its own view of what they share
  const call = front.plain.call('slow');
  await new Promise((resolve) => setTimeout(resolve, 30));
  await front.errand.close();
  const { taskId } = (await call)['structuredContent'] as { taskId: string };
  const status = owner.plain.call('task_status', { taskId });
  finish();
  expect(await status).toMatchObject({ content: [{ text: 'done' }] });
});

it('a front end that closes waits for the calls that it follows and must not hand off', async () => {
  const { front, finish } = await pair({ holdFor: Infinity });
  const call = front.plain.call('slow');
  await new Promise((resolve) => setTimeout(resolve, 30));
  const closed = front.errand.close();
  setTimeout(finish, 100);
  expect(await call).toMatchObject({ content: [{ text: 'done' }] });
  await closed;
});
