import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Commits, type Command } from './commits.ts';

/** Runs commands, and notes how many share a commit. */
function recorded() {
  const sizes: number[] = [];
  const commits = new Commits((commands: readonly Command[]) => {
    sizes.push(commands.length);
    for (const command of commands) command.run();
  });
  return { sizes, commits };
}

test('what arrives in one iteration of the event loop shares one commit', async () => {
  const { sizes, commits } = recorded();
  const answers: Promise<unknown>[] = [commits.run(() => ({ value: 1 }))];
  const more = () => answers.push(commits.run(() => ({ value: 2 })));
  process.nextTick(more);
  queueMicrotask(() => queueMicrotask(more));
  await nextIteration();
  expect(sizes).toEqual([3]);
  expect(await Promise.all(answers)).toEqual([1, 2, 2]);
});

test('what arrives while callers hear of a commit goes into the next one', async () => {
  const { sizes, commits } = recorded();
  const next = commits.run(() => ({ value: 1 })).then(() => commits.run(() => ({ value: 2 })));
  await Promise.all([next, commits.run(() => ({ value: 3 }))]);
  expect(sizes).toEqual([2, 1]);
});

test('no caller is answered before the commit is over', async () => {
  let answered = 0;
  const commits = new Commits((commands) => {
    for (const command of commands) command.run();
    expect(answered).toBe(0);
  });
  const answer = () => commits.run(() => ({ value: 0 })).then(() => answered++);
  await Promise.all([answer(), answer()]);
  expect(answered).toBe(2);
});

test('a failed commit fails every command in it, whatever each came to, and none after it', async () => {
  let isBroken = true;
  const commits = new Commits((commands) => {
    commands[0]!.run();
    commands[1]?.fail(new Error('its own'));
    if (isBroken) throw new Error('disk');
  });
  const results = await Promise.allSettled([commits.run(() => ({ value: 1 })), commits.run(() => ({ value: 2 }))]);
  for (const result of results) {
    expect(result).toMatchObject({ status: 'rejected', reason: { kind: 'storeAway', cause: new Error('disk') } });
  }
  isBroken = false;
  await expect(commits.run(() => ({ value: 3 }))).resolves.toBe(3);
});
