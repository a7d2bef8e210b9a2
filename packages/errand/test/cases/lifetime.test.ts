import { describe, expect, test } from 'vitest';
import { gate } from '../fixtures/gate.ts';
import { served } from '../fixtures/served.ts';
import { textOf, wireClient } from '../fixtures/wire.ts';

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('CASES Lifetime and memory', { timeout: 30_000 }, () => {
  test('8: a task still working at its deadline fails with a reason, and is never unknown while it runs', async () => {
    const never = gate();
    const { url } = await served((errand) => {
      errand.tool('late', { task: 'always', deadline: '700ms' }, async () => {
        await never.opened;
        return 'too late';
      });
    });
    const client = wireClient(url);
    const taskId = await client.begin('late');
    // `until` throws where a read is answered with an error.
    const task = await client.ended(taskId);
    expect(task).toMatchObject({ status: 'failed', statusMessage: expect.stringMatching(/deadline/i) });
    expect(
      Date.parse(task['lastUpdatedAt'] as string) - Date.parse(task['createdAt'] as string),
    ).toBeGreaterThanOrEqual(700);
    never.open();
    await sleep(100);
    expect(await client.get(taskId)).toEqual(task);
  });

  test('10: a task stays readable until its ttlMs has passed since it was created, and ttlMs stays the same', async () => {
    const { url } = await served((errand) => {
      errand.tool('brief', { task: 'always', deadline: '500ms', retention: '2s' }, () => 'kept');
    });
    const client = wireClient(url);
    const created = await client.call('brief');
    expect(created).toMatchObject({ resultType: 'task', ttlMs: 2500 });
    const taskId = created['taskId'] as string;
    const expires = Date.parse(created['createdAt'] as string) + 2500;
    let reads = 0;
    for (; Date.now() < expires - 300; await sleep(100)) {
      const task = await client.get(taskId);
      expect(task).toMatchObject({ ttlMs: 2500, createdAt: created['createdAt'] });
      if (reads++ > 5) expect(textOf(task)).toBe('kept');
    }
    expect(reads).toBeGreaterThan(10);
    for (const end = Date.now() + 15_000; ; await sleep(100)) {
      const { error } = await client.send('tasks/get', { taskId });
      if (error?.code === -32602) break;
      expect(Date.now()).toBeLessThan(end);
    }
  });
});
