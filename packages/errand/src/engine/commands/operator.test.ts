import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { taskOf } from '../../../test/scripted-engine.ts';
import { systemClock } from '../../clock.ts';
import type { Store } from '../../store.ts';
import { memory } from '../../stores/memory.ts';
import { ANONYMOUS, LOCAL } from '../../task/principal.ts';
import type { Task } from '../../task/task.ts';
import { hold } from '../../task/transitions.ts';
import { createWatch } from '../watching.ts';
import { createOperator, type Operator } from './operator.ts';

let store: Store;
let operator: Operator;
let readied: number;
let root: Task;
let child: Task;

beforeEach(async () => {
  store = memory();
  readied = 0;
  const ready = async (): Promise<void> => {
    readied++;
    await store.open();
  };
  await store.open();
  operator = createOperator({ store, watch: createWatch(store, systemClock), ready });
  const task = taskOf(store.newId(), { expiresAt: 1e15 });
  await store.create(() => ({ task }));
  const parent = { id: task.id, root: task.id, key: 'a', path: 'a' };
  child = taskOf(store.newId(), { expiresAt: 1e15, parent });
  root = (await store.change(task.id, (task) => ({ task: { ...task, subtasks: 1 }, subtasks: [child] })))!;
});

afterEach(() => store.close());

const kinds = async (id: string) => (await store.events(id, 0, 99)).map(({ kind }) => kind);

describe('whoever runs the server', () => {
  it('pauses a task with what is below it, and resumes both, each in one commit', async () => {
    expect(await operator.pause(root.id, 'lunch')).toBe(true);
    for (const { id } of [root, child]) {
      expect(await operator.read(id)).toMatchObject({ paused: true, statusMessage: 'paused: lunch' });
    }
    expect(await operator.pause(root.id)).toBe(false);
    expect(await operator.resume(root.id)).toBe(true);
    for (const { id } of [root, child]) {
      expect(await operator.read(id)).not.toHaveProperty('paused');
      expect(await kinds(id)).toEqual(['paused', 'resumed']);
    }
    expect(await operator.resume(root.id)).toBe(false);
  });

  it('pauses a subtask alone', async () => {
    expect(await operator.pause(child.id, '')).toBe(true);
    expect(await operator.read(child.id)).toMatchObject({ statusMessage: 'paused' });
    expect(await operator.read(root.id)).toEqual(root);
  });

  it('steers a task alone, with any JSON', async () => {
    expect(await operator.steer(root.id, { turn: 'left', never: undefined })).toBe(true);
    expect(await operator.read(root.id)).toMatchObject({ steering: [{ turn: 'left' }] });
    expect(await store.events(root.id, 0, 9)).toMatchObject([{ kind: 'steered', message: { turn: 'left' } }]);
    expect(await operator.read(child.id)).toEqual(child);
    await expect(operator.steer(root.id, 10n)).rejects.toThrow('what a task is told');
  });

  it('cancels a task with what is below it', async () => {
    expect(await operator.cancel(root.id)).toBe(true);
    for (const { id } of [root, child]) expect(await operator.read(id)).toMatchObject({ status: 'cancelled' });
    expect(await operator.cancel(root.id)).toBe(false);
    expect(await operator.steer(root.id, 'left')).toBe(false);
  });

  it('has a held task tried again', async () => {
    expect(await operator.retry(root.id)).toBe(false);
    await store.change(root.id, (task) => ({ task: hold(task, 'no code', 1) }));
    expect(await operator.retry(root.id)).toBe(true);
    expect(await kinds(root.id)).toEqual(['released']);
  });

  it('changes nothing under an unknown id, and hears so', async () => {
    expect(await operator.read('unknown')).toBeUndefined();
    for (const act of [operator.pause, operator.resume, operator.cancel, operator.retry]) {
      expect(await act('unknown')).toBe(false);
    }
    expect(await operator.steer('unknown', 1)).toBe(false);
  });

  it('is told where a reason is too long', async () => {
    await expect(operator.pause(root.id, 'x'.repeat(1001))).rejects.toMatchObject({ kind: 'tooLarge' });
    expect(await operator.read(root.id)).toEqual(root);
  });

  it('lists the tasks of a principal page by page, latest first, without subtasks', async () => {
    const made: string[] = [root.id];
    for (let index = 1; index <= 4; index++) {
      const task = taskOf(store.newId(), { createdAt: root.createdAt + index, expiresAt: 1e15 });
      await store.create(() => ({ task }));
      made.unshift(task.id);
    }
    const pages = [];
    for (let after: string | undefined, more = true; more; more = after !== undefined) {
      const page = await operator.list(LOCAL, { limit: 2, ...(after !== undefined && { after }) });
      pages.push(page.tasks.map(({ id }) => id));
      after = page.next;
    }
    expect(pages).toEqual([made.slice(0, 2), made.slice(2, 4), made.slice(4)]);
    expect(await operator.list(LOCAL, { statuses: ['failed'] })).toEqual({ tasks: [] });
    expect(await operator.list(ANONYMOUS)).toEqual({ tasks: [] });
    await expect(operator.list(LOCAL, { limit: 0 })).rejects.toThrow('list: limit');
  });

  it('follows what happens to a task', async () => {
    const seen: string[] = [];
    for await (const { kind } of operator.events(root.id)) {
      seen.push(kind);
      if (kind === 'created') await operator.cancel(root.id);
    }
    expect(seen).toEqual(['created', 'cancel_asked', 'ended']);
  });

  it('need not have started the server before', async () => {
    await store.close();
    expect(await operator.read(root.id)).toEqual(root);
    expect(readied).toBe(1);
  });
});
