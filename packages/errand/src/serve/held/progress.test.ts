import { describe, expect, it } from 'vitest';
import { taskOf } from '../../../test/scripted-engine.ts';
import type { ProgressReport } from '../../dialect.ts';
import type { Task } from '../../task/task.ts';
import { heldProgress } from './progress.ts';

/** What is told of these states of a task, where the client reads each at once. */
function told(...states: Partial<Task>[]): ProgressReport[] {
  const reports: ProgressReport[] = [];
  const progress = heldProgress('p', (_, report) => {
    reports.push(report);
    return { jsonrpc: '2.0', method: 'notifications/progress' };
  });
  for (const state of states) {
    progress.hear(taskOf('t', state));
    progress.next();
  }
  expect(progress.next()).toBeUndefined();
  const numbers = reports.map((report) => report.progress);
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  return reports;
}

describe('the progress of a held call', () => {
  it('is that of its task', () => {
    expect(told({ progress: { done: 1 } }, { progress: { done: 2, total: 8 }, statusMessage: 'halfway' })).toEqual([
      { progress: 1 },
      { progress: 2, total: 8, message: 'halfway' },
    ]);
  });

  it('rises with a message alone, too, by next to nothing', () => {
    const reports = told({ statusMessage: 'a' }, { statusMessage: 'b' }, { statusMessage: 'b', progress: { done: 1 } });
    expect(reports.map(({ message }) => message)).toEqual(['a', 'b', 'b']);
    expect(reports[1]!.progress).toBeLessThan(0.001);
    expect(reports[2]!.progress).toBe(1);
  });

  it('rises however great the number is', () => {
    const done = Number.MAX_SAFE_INTEGER;
    const states = ['a', 'b', 'c'].map((statusMessage) => ({ progress: { done }, statusMessage }));
    expect(told(...states)).toHaveLength(3);
  });

  it('is never more than all of it', () => {
    const progress = { done: 8, total: 8 };
    expect(told({ progress }, { progress, statusMessage: 'packing' })[1]).not.toHaveProperty('total');
  });

  it('is told when there is more of it, not when something else of the task changed', () => {
    expect(
      told({}, { statusMessage: 'a' }, { statusMessage: 'a', runs: 1 }, { statusMessage: 'a', wakeAt: 7 }),
    ).toHaveLength(1);
    const progress = { done: 2, total: 3 };
    expect(told({ progress }, { progress: { ...progress } }, { progress: { done: 2, total: 4 } })).toHaveLength(2);
  });

  it('merges for a client that reads slowly', () => {
    const reports: ProgressReport[] = [];
    const progress = heldProgress(7, (token, report) => {
      reports.push(report);
      return { jsonrpc: '2.0', method: 'notifications/progress', params: { token } };
    });
    for (let done = 1; done <= 100; done++) progress.hear(taskOf('t', { progress: { done, total: 100 } }));
    expect(progress.next()).toMatchObject({ params: { token: 7 } });
    expect(progress.next()).toBeUndefined();
    expect(reports).toEqual([{ progress: 100, total: 100 }]);
  });
});
