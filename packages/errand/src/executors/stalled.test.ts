import { afterEach, expect, it, vi } from 'vitest';
import { memory } from '../stores/memory.ts';
import { begin, makeBed, resultOf, soon, type Define } from './suite/bed.suite.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('a replay that never comes to what was recorded is held, and says what it waits for', async (t) => {
  const store = memory();
  const bed = await makeBed({ store: () => store, wipe: async () => undefined }, t);
  const both: Define = (errand) =>
    errand.tool('work', { task: 'always' }, async (_, task) => {
      await Promise.all([task.step('a', () => 'a'), task.step('b', () => 'b')]);
      await task.step('stuck', () => new Promise<never>(() => undefined));
      return 'never';
    });
  const first = await bed.server(both);
  const id = await begin(first.client, 'work');
  await soon(async () => (await bed.disk.journal(id)).length >= 4);
  first.store.crash();

  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let patient = true;
  const second = await bed.server((errand) =>
    errand.tool('work', { task: 'always' }, async (_, task) => {
      // One after the other, where both were begun at once before: the end of a is told after b was begun.
      await task.step('a', () => 'a again');
      await task.step('b', () => 'b again');
      return patient ? 'too soon' : 'never';
    }),
  );
  await vi.advanceTimersByTimeAsync(59_000);
  expect((await bed.disk.read(id))!).not.toHaveProperty('held');
  await vi.advanceTimersByTimeAsync(2000);
  const message =
    `the code no longer fits this task's journal: ` +
    `entry 1 is step "b", but the handler did not come to it in 60000 ms`;
  expect(await bed.disk.read(id)).toMatchObject({ status: 'working', held: message, statusMessage: message });
  vi.useRealTimers();
  second.store.crash();
  patient = false;

  const third = await bed.server((errand) =>
    errand.tool('work', { task: 'always' }, async (_, task) => {
      const values = await Promise.all([task.step('a', () => 'a again'), task.step('b', () => 'b again')]);
      await task.step('stuck', () => null);
      return values.join();
    }),
  );
  expect(await resultOf(third.client, id)).toBe('a,b');
});
