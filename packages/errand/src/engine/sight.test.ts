import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { taskOf } from '../../test/scripted-engine.ts';
import { systemClock } from '../clock.ts';
import type { Store } from '../store.ts';
import { memory } from '../stores/memory.ts';
import type { Task } from '../task/task.ts';
import { answer, ask, cancel, describe as describing } from '../task/transitions.ts';
import { openQuestions } from './below.ts';
import type { SeenTask } from './engine.ts';
import { createSight, type Sight } from './sight.ts';
import { createWatch } from './watching.ts';

const QUESTION = { method: 'roots/list', params: {} } as const;
let store: Store;
let sight: Sight;
let root: Task;
let child: Task;
let told: SeenTask[];

beforeEach(async () => {
  store = memory();
  await store.open();
  sight = createSight(store, createWatch(store, systemClock), systemClock);
  told = [];
  const task = taskOf(store.newId(), { expiresAt: 1e15 });
  await store.create(() => ({ task }));
  child = taskOf(store.newId(), { expiresAt: 1e15, parent: { id: task.id, root: task.id, key: 'page', path: 'page' } });
  root = (await store.change(task.id, (task) => ({ task: { ...task, subtasks: 1 }, subtasks: [child] })))!;
  await turn();
});

afterEach(() => store.close());

/** Whoever listens hears of a commit after its callers. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function change(id: string, next: (task: Task) => Task): Promise<void> {
  await store.change(id, (task) => ({ task: next(task) }));
  await turn();
}

const asks = (id: string, key = 'go') => change(id, (task) => ask(task, key, QUESTION, 1));
const answers = (id: string) => change(id, (task) => answer(task, { go: { roots: [] } }, 1));
const questions = () => told.map((task) => Object.keys(openQuestions(task)));
const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

describe('a task as its client sees it', () => {
  it('comes with what waits below it', async () => {
    await asks(child.id);
    expect(await sight.of(root, false)).toEqual({ ...root, below: [await store.read(child.id)] });
    await answers(child.id);
    expect(await sight.of(root, false)).toEqual({ ...root, below: [] });
  });

  it('is given at once, and as it is, where nothing can wait below it', () => {
    const asking = vi.spyOn(store, 'asking');
    const plain = taskOf('plain');
    expect(sight.of(plain, false)).toBe(plain);
    expect(sight.of(child, false)).toBe(child);
    expect(asking).not.toHaveBeenCalled();
  });
});

describe('whoever watches a root', () => {
  it('hears of each question below it, and of its answer', async () => {
    const stop = sight.watch(root.id, (task) => told.push(task), false);
    await asks(child.id);
    await vi.waitFor(() => expect(questions()).toEqual([['page/go']]));
    expect(told[0]).toMatchObject({ id: root.id, status: 'working' });
    await answers(child.id);
    await vi.waitFor(() => expect(questions()).toEqual([['page/go'], []]));
    stop();
  });

  it('hears of it together with what changes in the root itself', async () => {
    await asks(child.id);
    const stop = sight.watch(root.id, (task) => told.push(task), false);
    await change(root.id, (task) => describing(task, 'reading', 5));
    await vi.waitFor(() => expect(told).toMatchObject([{ statusMessage: 'reading', below: [{ id: child.id }] }]));
    await asks(root.id, 'own');
    await vi.waitFor(() => expect(questions()).toEqual([['page/go'], ['own', 'page/go']]));
    stop();
  });

  it('is not bothered by what descendants do besides', async () => {
    const stop = sight.watch(root.id, (task) => told.push(task), false);
    await asks(child.id);
    await vi.waitFor(() => expect(told).toHaveLength(1));
    const asking = vi.spyOn(store, 'asking');
    const other = { ...child, id: store.newId(), parent: { ...child.parent!, key: 'x', path: 'x' } };
    await store.change(root.id, (task) => ({ task, subtasks: [other] }));
    for (let runs = 1; runs < 5; runs++) await change(other.id, (task) => ({ ...task, runs }));
    await settled();
    expect(told).toHaveLength(1);
    expect(asking).not.toHaveBeenCalled();
    stop();
  });

  it('hears of the end of the root, without what is below', async () => {
    await asks(child.id);
    const stop = sight.watch(root.id, (task) => told.push(task), false);
    await store.changeTree(root.id, (task) => ({ task: cancel(task, 5) }));
    await settled();
    expect(told.map(({ status, below }) => [status, below])).toEqual([['cancelled', undefined]]);
    stop();
  });

  it('hears nothing more once it has stopped', async () => {
    const stop = sight.watch(root.id, (task) => told.push(task), false);
    const asking = asks(child.id);
    stop();
    await asking;
    await settled();
    expect(told).toEqual([]);
  });

  it('is asked a thousand things at once at most', async () => {
    const many = Array.from({ length: 1001 }, (_, index) => {
      const path = `${index}`;
      const task = { ...child, id: store.newId(), parent: { ...child.parent!, key: path, path } };
      return ask(task, 'go', QUESTION, 1);
    });
    await store.change(root.id, (task) => ({ task, subtasks: many }));
    const seen = await sight.of(root, false);
    expect(Object.keys(openQuestions(seen))).toHaveLength(1000);
  });
});

describe('a client that knows of subtasks', () => {
  it('sees which ones a task has made, also after its end, and not what they wait for', async () => {
    await asks(child.id);
    expect(await sight.of(root, true)).toEqual({ ...root, children: [child.id] });
    const ended = (await store.changeTree(root.id, (task) => ({ task: cancel(task, 5) })))!;
    expect(await sight.of(ended, true)).toEqual({ ...ended, children: [child.id] });
    expect(sight.of(child, true)).toBe(child);
  });

  it('hears of each that is made, and of none that is not its own', async () => {
    const stop = sight.watch(root.id, (task) => told.push(task), true);
    await asks(child.id);
    const other = { ...child, id: store.newId(), parent: { ...child.parent!, key: 'x', path: 'x' } };
    await store.change(root.id, (task) => ({ task: { ...task, subtasks: 2, lastUpdatedAt: 5e14 }, subtasks: [other] }));
    await vi.waitFor(() => expect(told.map(({ children }) => children)).toEqual([[child.id, other.id]]));
    await change(root.id, (task) => describing(task, 'reading', 5));
    await settled();
    expect(told.at(-1)).toMatchObject({ statusMessage: 'reading', children: [child.id, other.id] });
    expect(told.every(({ below }) => below === undefined)).toBe(true);
    stop();
  });
});

describe('a task without subtasks', () => {
  it('is told of as it is, once for all that cannot be told apart', async () => {
    const stop = sight.watch(child.id, (task) => told.push(task), false);
    await change(child.id, (task) => ({ ...task, runs: 1 }));
    await change(child.id, (task) => ({ ...task, runs: 2 }));
    await asks(child.id);
    expect(told.map(({ runs, status }) => [runs, status])).toEqual([
      [1, 'working'],
      [2, 'input_required'],
    ]);
    stop();
  });
});
