import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { taskOf } from '../../test/scripted-engine.ts';
import type { InputRequest } from '../task/input.ts';
import type { Task } from '../task/task.ts';
import { answer, ask } from '../task/transitions.ts';
import type { Define } from '../testing/test-errand.ts';
import { up } from '../testing/up.suite.ts';
import { answersBelow, createPathGuard, isAsking, mayAskBelow, openQuestions } from './below.ts';

const question = (message: string): InputRequest => ({ method: 'elicitation/create', params: { message } });
const asking = (task: Task, ...keys: string[]): Task =>
  keys.reduce((task, key) => ask(task, key, question(`${task.id} ${key}`), 1), task);
const subtask = (id: string, path: string): Task =>
  taskOf(id, { parent: { id: 'root', root: 'root', key: path, path } });

const a = asking(subtask('a', 'chunk-3'), 'approve');
const b = asking(subtask('b', 'chunk-4/page'), 'go', 'stop');

describe('what asks below a task', () => {
  it('is asked under its path, beside what the task asks itself', () => {
    const root = { ...asking(taskOf('root', { subtasks: 2 }), 'own'), below: [a, answer(b, { stop: {} }, 2)] };
    expect(openQuestions(root)).toEqual({
      own: question('root own'),
      'chunk-3/approve': question('a approve'),
      'chunk-4/page/go': question('b go'),
    });
    expect(Object.keys(openQuestions(root))[0]).toBe('own');
  });

  it('makes a task ask that asks nothing itself', () => {
    expect(isAsking({ ...taskOf('root'), below: [a] })).toBe(true);
    expect(isAsking({ ...taskOf('root'), below: [] })).toBe(false);
    expect(isAsking(asking(taskOf('root'), 'own'))).toBe(true);
  });

  it('gets the answers that come under its path, and no others', () => {
    const root = { ...taskOf('root'), below: [a, b] };
    const responses = { 'chunk-3/approve': 1, 'chunk-4/page/stop': 2, approve: 3, 'chunk-4/go': 4, toString: 5 };
    expect(answersBelow(root, responses)).toEqual([
      { task: a, key: 'approve', pathKey: 'chunk-3/approve', response: 1 },
      { task: b, key: 'stop', pathKey: 'chunk-4/page/stop', response: 2 },
    ]);
  });

  it('is told apart where its keys have what stands between the keys of a path', () => {
    const inner = asking(subtask('inner', 'a/b'), 'c', '~1');
    const outer = asking(subtask('outer', 'a'), 'b/c', 'b~1c', '~');
    const root = { ...taskOf('root', { subtasks: 1 }), below: [outer, inner] };
    expect(openQuestions(root)).toEqual({
      'a/b~1c': question('outer b/c'),
      'a/b~01c': question('outer b~1c'),
      'a/~0': question('outer ~'),
      'a/b/c': question('inner c'),
      'a/b/~01': question('inner ~1'),
    });
    expect(answersBelow(root, { 'a/b/c': 1 }).map(({ task }) => task.id)).toEqual(['inner']);
    expect(answersBelow(root, { 'a/b~1c': 1 }).map(({ task, key }) => [task.id, key])).toEqual([['outer', 'b/c']]);
  });

  it('gives way to a key of the task itself, until that has its answer', () => {
    const root = { ...asking(taskOf('root'), 'chunk-3/approve'), below: [a] };
    expect(openQuestions(root)).toEqual({ 'chunk-3/approve': question('root chunk-3/approve') });
    expect(answersBelow(root, { 'chunk-3/approve': {} })).toEqual([]);
    const later = { ...answer(root, { 'chunk-3/approve': {} }, 2), below: [a] };
    expect(openQuestions(later)).toEqual({ 'chunk-3/approve': question('a approve') });
    expect(answersBelow(later, { 'chunk-3/approve': {} })).toHaveLength(1);
  });

  it('is looked for only below live tasks that no handler made, and that have subtasks', () => {
    expect(mayAskBelow(taskOf('t', { subtasks: 1 }))).toBe(true);
    expect(mayAskBelow(taskOf('t'))).toBe(false);
    expect(mayAskBelow(taskOf('t', { subtasks: 1, status: 'completed' }))).toBe(false);
    expect(mayAskBelow({ ...subtask('t', 'k'), subtasks: 1 })).toBe(false);
  });
});

describe('the keys of a root', () => {
  it('may have "/" where no path reads like them', () => {
    const guard = createPathGuard();
    guard.begins('hotel');
    for (const key of ['hotel', 'hotels/amount', '/hotel/amount', 'flight/amount', 'plain']) guard.asks(key);
    for (const key of ['plain', 'amount', 'hotels']) {
      if (key !== 'hotels') guard.begins(key);
      else expect(() => guard.begins(key)).toThrow('"hotels/amount" reads like a question of subtask "hotels"');
    }
  });

  it('are refused where they read like a path below a subtask that has begun', () => {
    const guard = createPathGuard();
    guard.begins('hotel');
    for (const key of ['hotel/amount', 'hotel/', 'hotel/room/amount']) {
      expect(() => guard.asks(key)).toThrow(`"${key}" reads like a question of subtask "hotel"`);
    }
    guard.begins('hotel');
  });
});

describe('an answer', () => {
  const schema = z.object({ ok: z.boolean() });
  const TOOLS: Define = (errand) => {
    errand.tool('b', { task: 'always' }, async (_, task) => {
      return `b ${(await task.elicit('c', { message: 'Delete?', schema })).action}`;
    });
    errand.tool('a', { task: 'always' }, async (_, task) => {
      const asked = task.elicit('b/c', { message: 'Send?', schema });
      const [b, own] = await Promise.all([task.subtask('b', 'b'), asked]);
      return `a ${own.action}, ${JSON.stringify(b.content)}`;
    });
    errand.tool('root', { task: 'always' }, async (_, task) => {
      return JSON.stringify((await task.subtask('a', 'a')).content);
    });
  };

  it('reaches one question, where a task below asks under a key that reads like a path', async () => {
    const { client } = await up(TOOLS, {});
    const id = await client.begin('root');
    await expect
      .poll(async () => Object.keys((await client.read(id)).inputRequests ?? {}).sort())
      .toEqual(['a/b/c', 'a/b~1c']);
    await client.answer(id, { 'a/b/c': { action: 'decline' } });
    await expect.poll(async () => Object.keys((await client.read(id)).inputRequests ?? {})).toEqual(['a/b~1c']);
    await client.answer(id, { 'a/b~1c': { action: 'accept', content: { ok: true } } });
    const ended = await client.until(id, 'completed');
    expect(JSON.stringify(ended)).toMatch(/a accept, .*b decline/);
  });

  it('is never wanted under a key of a root that reads like a path below it', async () => {
    const { client } = await up(TOOLS, {});
    const id = await client.begin('a');
    const failed = await client.until(id, 'failed').catch(() => client.read(id));
    expect(JSON.stringify(failed)).toContain('reads like a question of subtask');
  });
});
