import { afterEach, beforeEach, expect, it } from 'vitest';
import { taskOf } from '../../test/scripted-engine.ts';
import type { Store } from '../store.ts';
import { memory } from '../stores/memory.ts';
import type { Task } from '../task/task.ts';
import { readGraph } from './graph.ts';

let store: Store;
let root: Task;

beforeEach(async () => {
  store = memory();
  await store.open();
  const task = taskOf(store.newId(), { expiresAt: 1e15 });
  root = await store.create(() => ({ task }));
});

afterEach(() => store.close());

async function grow(above: Task, ...keys: string[]): Promise<Task[]> {
  const subtasks = keys.map((key) =>
    taskOf(store.newId(), { expiresAt: 1e15, parent: { id: above.id, root: root.id, key, path: key } }),
  );
  await store.change(above.id, (task) => ({ task: { ...task, subtasks: keys.length }, subtasks }));
  return subtasks;
}

const keysOf = (tasks: readonly Task[]) => tasks.map(({ parent }) => parent?.key ?? 'root');
const graph = async (limit: number) => readGraph(store, (await store.read(root.id))!, limit);

it('a graph is read level by level, each task after the one that made it', async () => {
  const [a, b] = await grow(root, 'a', 'b');
  await grow(b!, 'b1');
  const [a1] = await grow(a!, 'a1', 'a2');
  await grow(a1!, 'deep');
  const { tasks, truncated } = await graph(100);
  expect(keysOf(tasks)).toEqual(['root', 'a', 'b', 'a1', 'a2', 'b1', 'deep']);
  expect(truncated).toBe(false);
});

it('a graph that is larger than what may be read is cut off, and says so', async () => {
  const [a] = await grow(root, 'a', 'b', 'c');
  await grow(a!, 'a1');
  expect(keysOf((await graph(3)).tasks)).toEqual(['root', 'a', 'b']);
  expect((await graph(3)).truncated).toBe(true);
  expect(keysOf((await graph(4)).tasks)).toEqual(['root', 'a', 'b', 'c']);
  expect((await graph(4)).truncated).toBe(true);
  expect((await graph(5)).truncated).toBe(false);
  expect((await graph(5)).tasks).toHaveLength(5);
});

it('a task alone is a graph', async () => {
  expect(await graph(1)).toEqual({ tasks: [root], truncated: false });
});
