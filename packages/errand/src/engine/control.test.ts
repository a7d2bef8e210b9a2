import { describe, expect, it } from 'vitest';
import { taskOf } from '../../test/scripted-engine.ts';
import { ask, cancel, hold } from '../task/transitions.ts';
import { answering, pausing, releasing, resuming, steering } from './control.ts';

const QUESTION = { method: 'roots/list', params: {} } as const;
const task = taskOf('t');
const paused = pausing(task, 'lunch', 5)!.task;
const held = hold(task, 'no code', 5);

describe('what is done to a task from outside', () => {
  it('is said in its log, in the same change', () => {
    const asking = ask(ask(task, 'a', QUESTION, 1), 'b', QUESTION, 1);
    const answers = { b: { roots: [] }, gone: { roots: [] } };
    expect(answering(asking, answers, 5)).toMatchObject({ events: [{ kind: 'answered', keys: ['b'] }] });
    expect(pausing(task, 'lunch', 5)).toMatchObject({
      task: { paused: true },
      events: [{ kind: 'paused', reason: 'lunch' }],
    });
    expect(pausing(task, undefined, 5)!.events).toEqual([{ kind: 'paused' }]);
    expect(resuming(paused, 6)).toMatchObject({ task: { wakeAt: 6 }, events: [{ kind: 'resumed' }] });
    expect(releasing(held, 6)).toMatchObject({ task: { wakeAt: 6 }, events: [{ kind: 'released' }] });
    const steered = { task: { steering: ['left'] }, events: [{ kind: 'steered', message: 'left' }] };
    expect(steering(task, 'left', 5)).toMatchObject(steered);
  });

  it('is no change where it was done before, or is not called for', () => {
    expect(answering(task, { a: { roots: [] } }, 6)).toBeUndefined();
    expect(pausing(paused, 'again', 6)).toBeUndefined();
    expect(resuming(task, 6)).toBeUndefined();
    expect(releasing(task, 6)).toBeUndefined();
  });

  it('is no change after the end', () => {
    const ended = cancel(task, 5);
    expect(pausing(ended, undefined, 6)).toBeUndefined();
    expect(steering(ended, 'x'.repeat(1_000_000), 6)).toBeUndefined();
  });
});

describe('steering', () => {
  it('is refused beyond a thousand messages', () => {
    const full = { ...task, steering: Array.from({ length: 999 }, () => 'on') };
    const last = steering(full, 'on', 5)!.task;
    expect(last.steering).toHaveLength(1000);
    expect(() => steering(last, 'on', 6)).toThrow('a task is told 1000 things at most');
  });

  it('is refused beyond a quarter of a MiB in all', () => {
    const half = steering(task, 'é'.repeat(65_000), 5)!.task;
    expect(() => steering(half, 'é'.repeat(70_000), 6)).toThrow('at most 262144 are kept');
    expect(steering(half, 'é'.repeat(60_000), 6)).toBeDefined();
  });
});
