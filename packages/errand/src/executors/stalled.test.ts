import { expect, it, onTestFinished } from 'vitest';
import { memory } from '../stores/memory.ts';
import { testErrand, virtualClock } from '../testing.ts';

it('a replay that never comes to what was recorded is held, and says what it waits for', async () => {
  const clock = virtualClock();
  const store = memory({ clock: clock.now });
  const t = await testErrand({ clock, store }, (errand) =>
    errand.tool('work', { task: 'always' }, async (_, task) => {
      await Promise.all([task.step('a', () => 'a'), task.step('b', () => 'b')]);
      await task.step('stuck', () => clock.sleep('1d'));
      return 'never';
    }),
  );
  onTestFinished(() => t.close());
  const id = await t.client.begin('work');
  await clock.settle();
  expect((await store.journal(id)).length).toBeGreaterThanOrEqual(4);

  let patient = true;
  await t.restart((errand) =>
    errand.tool('work', { task: 'always' }, async (_, task) => {
      // One after the other, where both were begun at once before: the end of a is told after b was begun.
      await task.step('a', () => 'a again');
      await task.step('b', () => 'b again');
      return patient ? 'too soon' : 'never';
    }),
  );
  await clock.advance('59s');
  expect((await store.read(id))!).not.toHaveProperty('held');
  await clock.advance('1s');
  const message =
    `the code no longer fits this task's journal: ` +
    `entry 1 is step "b", but the handler did not come to it in 60000 ms`;
  expect(await store.read(id)).toMatchObject({ status: 'working', held: message, statusMessage: message });
  patient = false;

  await t.restart((errand) =>
    errand.tool('work', { task: 'always' }, async (_, task) => {
      const values = await Promise.all([task.step('a', () => 'a again'), task.step('b', () => 'b again')]);
      await task.step('stuck', () => null);
      return values.join();
    }),
  );
  await clock.settle();
  expect(await t.client.read(id)).toMatchObject({ result: { content: [{ text: 'a,b' }] } });
});
