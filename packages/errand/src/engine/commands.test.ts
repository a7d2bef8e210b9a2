import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { taskOf } from '../../test/scripted-engine.ts';
import { systemClock } from '../clock.ts';
import { DEFAULT_LIMITS } from '../limits.ts';
import type { Store } from '../store.ts';
import { memory } from '../stores/memory.ts';
import type { InputRequest } from '../task/input.ts';
import { LOCAL } from '../task/principal.ts';
import type { Task } from '../task/task.ts';
import { ask, finish } from '../task/transitions.ts';
import { createTaskCommands, type TaskCommands } from './commands.ts';
import { createSight } from './sight.ts';
import { createWatch } from './watching.ts';

const FORM: InputRequest = {
  method: 'elicitation/create',
  params: {
    message: '?',
    requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  },
};
const YES = { action: 'accept', content: { ok: true } };
const BAD = { action: 'accept', content: {} };

let store: Store;
let commands: TaskCommands;
let root: Task;

beforeEach(async () => {
  store = memory();
  await store.open();
  const sight = createSight(store, createWatch(store, systemClock), systemClock);
  commands = createTaskCommands(store, sight, DEFAULT_LIMITS);
  const task = taskOf(store.newId(), { expiresAt: 1e15 });
  root = await store.create(() => ({ task }));
});

afterEach(() => store.close());

const read = (id: string): Promise<Task | undefined> => store.read(id);
const kinds = async (id: string) => (await store.events(id, 0, 99)).map(({ kind }) => kind);

async function asks(id: string, key: string): Promise<void> {
  await store.change(id, (task) => ({ task: ask(task, key, FORM, 1) }));
}

async function makeSubtask(above: Task, key: string): Promise<Task> {
  const path = above.parent === undefined ? key : `${above.parent.path}/${key}`;
  const parent = { id: above.id, root: root.id, key, path };
  const subtask = taskOf(store.newId(), { expiresAt: 1e15, parent });
  const made = (task: Task) => ({ task: { ...task, subtasks: (task.subtasks ?? 0) + 1 }, subtasks: [subtask] });
  await store.change(above.id, made);
  return subtask;
}

describe('an answer', () => {
  it('is in the log in the same change, under the keys that it answered', async () => {
    await asks(root.id, 'a');
    await commands.answer(LOCAL, root.id, { a: YES, unknown: YES });
    expect(await store.events(root.id, 0, 9)).toMatchObject([{ kind: 'answered', keys: ['a'] }]);
    await commands.answer(LOCAL, root.id, { a: BAD });
    expect(await kinds(root.id)).toEqual(['answered']);
  });

  it('under a path goes to the task below, however deep', async () => {
    const child = await makeSubtask(root, 'chunk-3');
    const deep = await makeSubtask(child, 'page');
    await asks(child.id, 'approve');
    await asks(deep.id, 'approve');
    expect(await commands.read(LOCAL, root.id)).toMatchObject({
      status: 'working',
      below: [{ id: child.id }, { id: deep.id }],
    });
    await commands.answer(LOCAL, root.id, { 'chunk-3/approve': YES, 'chunk-3/page/approve': YES });
    for (const { id } of [child, deep]) {
      expect(await read(id)).toMatchObject({
        status: 'working',
        inputs: { approve: { state: 'answered', response: YES } },
      });
      expect(await store.events(id, 0, 9)).toMatchObject([{ kind: 'answered', keys: ['approve'] }]);
    }
    expect(await kinds(root.id)).toEqual([]);
    expect(await commands.read(LOCAL, root.id)).toMatchObject({ below: [] });
  });

  it.each([
    ['below', { own: YES, 'a/go': YES, 'b/go': BAD }, 'b/go'],
    ['of the root', { own: BAD, 'a/go': YES, 'b/go': YES }, 'own'],
  ])('that does not fit a question %s refuses all of them, and names its key', async (_, responses, key) => {
    const [a, b] = [await makeSubtask(root, 'a'), await makeSubtask(root, 'b')];
    await asks(root.id, 'own');
    for (const { id } of [a, b]) await asks(id, 'go');
    await expect(commands.answer(LOCAL, root.id, responses)).rejects.toMatchObject({
      kind: 'invalidAnswer',
      data: { key },
    });
    for (const { id } of [root, a, b]) expect(await read(id)).toMatchObject({ status: 'input_required' });
    await commands.answer(LOCAL, root.id, { own: YES, 'a/go': YES, 'b/go': YES });
    for (const { id } of [root, a, b]) expect(await read(id)).toMatchObject({ status: 'working' });
  });
});

describe('a cancel', () => {
  it('ends a task and all that is live below it in one commit, and says so in the log of each', async () => {
    const child = await makeSubtask(root, 'a');
    const deep = await makeSubtask(child, 'b');
    const done = await makeSubtask(root, 'c');
    await asks(deep.id, 'go');
    await store.change(done.id, (task) => ({ task: finish(task, { kind: 'result', result: { content: [] } }, 1) }));
    await new Promise((resolve) => setImmediate(resolve));
    const ends: string[] = [];
    store.subscribe(({ id }) => ends.push(id));
    expect(await commands.cancel(LOCAL, root.id)).toMatchObject({ status: 'cancelled', epoch: 1 });
    for (const { id } of [root, child, deep]) {
      expect(await read(id)).toMatchObject({ status: 'cancelled', epoch: 1 });
      expect(await kinds(id)).toEqual(['cancel_asked']);
    }
    expect(await read(deep.id)).toMatchObject({ inputs: { go: { state: 'withdrawn' } } });
    expect(await read(done.id)).toMatchObject({ status: 'completed' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(ends).toEqual([root.id, child.id, deep.id]);
  });

  it('of a subtask leaves what is above it alone, but for waking it', async () => {
    const child = await makeSubtask(root, 'a');
    await commands.cancel(LOCAL, child.id);
    expect(await read(child.id)).toMatchObject({ status: 'cancelled' });
    expect(await read(root.id)).toMatchObject({ status: 'working', wakeAt: expect.any(Number) });
  });
});

describe('whoever waits for a task to ask or end', () => {
  it('is told when something below it asks', async () => {
    const child = await makeSubtask(root, 'a');
    const waiting = commands.untilItAsksOrEnds(LOCAL, root.id, new AbortController().signal);
    await asks(child.id, 'go');
    expect(await waiting).toMatchObject({ id: root.id, status: 'working', below: [{ id: child.id }] });
  });
});
