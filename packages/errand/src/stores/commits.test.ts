import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CommitHeldUp, Commits, runTurn, type Command, type Written } from './commits.ts';

const came =
  <T>(value: T): (() => Written<T>) =>
  () => ({ value, changed: [] });

/** Runs commands, and notes what takes place: how many share a commit, and how many reads are answered after it. */
function recorded(commit = (commands: readonly Command[]) => runTurn(commands, (command) => command.run())) {
  const log: string[] = [];
  const commits = new Commits({
    commit(commands) {
      const taken = commit(commands);
      log.push(`commit of ${taken}`);
      return taken;
    },
    answer(reads, committed) {
      log.push(`answer to ${reads.length}${committed ? ' after a commit' : ''}`);
      for (const { resolve } of reads) resolve(undefined);
    },
  });
  return { log, commits };
}

test('what arrives in one iteration of the event loop shares one commit', async () => {
  const { log, commits } = recorded();
  const answers: Promise<unknown>[] = [commits.run(came(1))];
  const more = () => answers.push(commits.run(came(2)));
  process.nextTick(more);
  queueMicrotask(() => queueMicrotask(more));
  await nextIteration();
  expect(log).toEqual(['commit of 3']);
  expect(await Promise.all(answers)).toEqual([1, 2, 2]);
});

test('what arrives while callers hear of a commit goes into the next one', async () => {
  const { log, commits } = recorded();
  const next = commits.run(came(1)).then(() => commits.run(came(2)));
  await Promise.all([next, commits.run(came(3))]);
  expect(log).toEqual(['commit of 2', 'commit of 1']);
});

test('no caller is answered before the commit is over', async () => {
  let answered = 0;
  const { commits } = recorded((commands) => {
    for (const command of commands) command.run();
    expect(answered).toBe(0);
    return commands.length;
  });
  const answer = () => commits.run(came(0)).then(() => answered++);
  await Promise.all([answer(), answer()]);
  expect(answered).toBe(2);
});

test('reads of one iteration are answered together, after its commit', async () => {
  const { log, commits } = recorded();
  const reads = [commits.read('a', undefined)];
  const writes = [commits.run(came(1))];
  reads.push(commits.read('b', undefined));
  await Promise.all([...reads, ...writes]);
  expect(log).toEqual(['commit of 1', 'answer to 2 after a commit']);
  await commits.read('c', undefined);
  expect(log.at(-1)).toBe('answer to 1');
});

test('reads do not wait for a commit that others hold up', async () => {
  let holdUps = 2;
  const { log, commits } = recorded((commands) => {
    if (holdUps-- > 0) throw new CommitHeldUp(new Error('busy'));
    return runTurn(commands, (command) => command.run());
  });
  const write = commits.run(came(1));
  await commits.read('a', undefined);
  await commits.read('b', undefined);
  expect(log).toEqual(['answer to 1', 'answer to 1']);
  expect(await write).toBe(1);
});

test('commands that take long share out among commits, in order, and the event loop has its turns between', async () => {
  let time = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => time);
  onTestFinished(() => clock.mockRestore());
  const { log, commits } = recorded();
  const order: number[] = [];
  const slow = (name: number) => () => {
    time += 6;
    order.push(name);
    return { value: name, changed: [] };
  };
  const writes = [1, 2, 3, 4, 5].map((name) => commits.run(slow(name)));
  void writes[0]!.then(() => setImmediate(() => log.push('a turn of others')));
  await Promise.all(writes);
  expect(order).toEqual([1, 2, 3, 4, 5]);
  expect(log).toEqual(['commit of 2', 'commit of 2', 'a turn of others', 'commit of 1']);
});

test('a failed commit fails every command in it, whatever each came to, and none after it', async () => {
  let isBroken = true;
  const { commits } = recorded((commands) => {
    commands[0]!.run();
    commands[1]?.fail(new Error('its own'));
    if (isBroken) throw new Error('disk');
    return commands.length;
  });
  const results = await Promise.allSettled([commits.run(came(1)), commits.run(came(2))]);
  for (const result of results) {
    expect(result).toMatchObject({ status: 'rejected', reason: { kind: 'storeAway', cause: new Error('disk') } });
  }
  isBroken = false;
  await expect(commits.run(came(3))).resolves.toBe(3);
});
