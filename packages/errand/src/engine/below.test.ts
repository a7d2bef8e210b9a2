import { describe, expect, it } from 'vitest';
import { taskOf } from '../../test/scripted-engine.ts';
import type { InputRequest } from '../task/input.ts';
import type { Task } from '../task/task.ts';
import { answer, ask } from '../task/transitions.ts';
import { answersBelow, isAsking, mayAskBelow, openQuestions } from './below.ts';

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
