import { describe, expect, test } from 'vitest';
// @ts-expect-error -- the runner is plain JavaScript, so that it runs before anything is built
import { judgeRequirements, judgeRun } from './verdict.mjs';

const check = (status: string) => ({ id: `some-${status}`, status, description: 'something' });
const run = (checks: unknown[] | undefined, more: object = {}) => ({
  code: 0,
  text: 'Passed: 1/1, 0 failed, 0 warnings',
  scenarios: new Map(checks && [['tasks', checks]]),
  ...more,
});
const wrongOf = (given: unknown): string[] => judgeRun('tasks', given).wrong;

describe('the verdict on a conformance run', () => {
  test('is green where every check passed', () => {
    expect(judgeRun('tasks', run([check('SUCCESS'), check('INFO')]))).toEqual({
      scenario: 'tasks',
      passed: 1,
      wrong: [],
    });
  });

  test.each(['FAILURE', 'WARNING', 'SKIPPED'])('is red for one %s, whatever the exit code', (status) => {
    expect(wrongOf(run([check('SUCCESS'), check(status)]))).toEqual([`${status} some-${status}: something`]);
  });

  test('is red where nothing was tested', () => {
    expect(wrongOf(run([]))).toEqual(['nothing was tested']);
    expect(wrongOf(run([check('INFO')]))).toEqual(['nothing was tested']);
    // What the suite does with a tasks scenario and --spec-version: exit code 0, and no report.
    expect(wrongOf(run(undefined, { text: 'SKIPPED: tasks, extension scenario' }))).toHaveLength(3);
  });

  test('is red where the run did not come to its end', () => {
    expect(wrongOf(run([check('SUCCESS')], { code: 1 }))).toEqual(['the suite ended with 1']);
    expect(wrongOf(run([check('SUCCESS')], { text: 'Server test error' }))).toContain('the run printed no result');
  });

  test('is red where a required scenario is missing from the run of all of them', () => {
    const all = run([check('SUCCESS')], { text: '=== SUMMARY ===' });
    const reds = (required: string[], given: unknown) =>
      judgeRequirements(required, given).filter(({ wrong }: { wrong: string[] }) => wrong.length > 0);
    expect(reds(['tasks'], all)).toEqual([]);
    expect(reds(['tasks', 'caching'], all)).toMatchObject([{ scenario: 'caching', wrong: ['nothing was tested'] }]);
    expect(reds([], all)).toHaveLength(1);
    expect(reds(['tasks'], { ...all, text: '' })).toHaveLength(1);
  });
});
