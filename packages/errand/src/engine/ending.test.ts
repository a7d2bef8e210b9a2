import { describe, expect, it } from 'vitest';
import { taskOf } from '../../test/scripted-engine.ts';
import { finish } from '../task/transitions.ts';
import { cancelling, ending, timingOut } from './ending.ts';

const RESULT = { kind: 'result', result: { content: [] } } as const;
const parent = { id: 'p', root: 'r', key: 'k', path: 'a/k' };

describe('how a task ends', () => {
  it('wakes the task that made it, in the same change', () => {
    const task = taskOf('t', { parent });
    const next = finish(task, RESULT, 5);
    expect(ending(task, next, { entries: [] })).toEqual({ task: next, entries: [], wakes: 'p' });
    expect(cancelling(task, 5)).toMatchObject({ wakes: 'p' });
    expect(timingOut(task, 4, 5)).toMatchObject({ wakes: 'p' });
  });

  it('wakes nobody where no handler made it', () => {
    expect(ending(taskOf('t'), finish(taskOf('t'), RESULT, 5))).not.toHaveProperty('wakes');
  });

  it('is said in the log where it came from outside', () => {
    expect(cancelling(taskOf('t'), 5)).toMatchObject({
      task: { status: 'cancelled' },
      events: [{ kind: 'cancel_asked' }],
    });
    expect(timingOut(taskOf('t'), 1000, 5)).toMatchObject({
      task: { status: 'failed', outcome: { error: { message: expect.stringContaining('1970-01-01T00:00:01') } } },
      events: [{ kind: 'deadline_passed' }],
    });
  });

  it('happens once: what has ended is left alone, and its parent too', () => {
    const ended = finish(taskOf('t', { parent }), RESULT, 5);
    expect(ending(ended, finish(ended, RESULT, 6))).toBeUndefined();
    expect(cancelling(ended, 6)).toBeUndefined();
    expect(timingOut(ended, 4, 6)).toBeUndefined();
  });
});
