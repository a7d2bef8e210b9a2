import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { JsonObject } from '../../src/json.ts';
import { gate } from '../fixtures/gate.ts';
import { served } from '../fixtures/served.ts';
import { startProgram } from '../fixtures/server-process.ts';
import { accept, textOf, wireClient } from '../fixtures/wire.ts';

describe('CASES Polling and push', { timeout: 30_000 }, () => {
  test('26: many clients poll one task: one execution', async () => {
    const work = gate();
    let runs = 0;
    const { url } = await served((errand) => {
      errand.tool('once', { task: 'always' }, async () => {
        runs++;
        await work.opened;
        return 'once';
      });
    });
    const taskId = await wireClient(url).begin('once');
    const polls = Array.from({ length: 20 }, () => wireClient(url).ended(taskId));
    await new Promise((resolve) => setTimeout(resolve, 200));
    work.open();
    const seen = await Promise.all(polls);
    expect(new Set(seen.map((task) => JSON.stringify(task['result']))).size).toBe(1);
    expect(runs).toBe(1);
  });

  test('27: a client that subscribed learns of completion at once, not at the next poll', async () => {
    const work = gate();
    const { url } = await served((errand) => {
      errand.tool('slow', { task: 'always', pollInterval: '1h' }, async () => {
        await work.opened;
        return 'at last';
      });
    });
    const client = wireClient(url);
    const taskId = await client.begin('slow');
    const listening = await client.listen([taskId]);
    await listening.next(({ method }) => method === 'notifications/tasks');
    const opened = performance.now();
    work.open();
    const { params } = await listening.next(({ params }) => params?.['status'] === 'completed');
    expect(performance.now() - opened).toBeLessThan(1000);
    // What is pushed is what a read says, but for the envelope of each.
    const { resultType, _meta: _read, ...read } = await client.get(taskId);
    const { _meta: _pushed, ...pushed } = params!;
    expect(resultType).toBe('complete');
    expect(pushed).toEqual(read);
    listening.close();
  });

  test('27: who subscribes to a task that has ended already is told so', async () => {
    const { url } = await served((errand) => {
      errand.tool('fine', { task: 'always' }, () => 'fine');
    });
    const client = wireClient(url);
    const taskId = await client.begin('fine');
    await client.ended(taskId);
    const listening = await client.listen([taskId]);
    await listening.next(({ params }) => params?.['status'] === 'completed');
    listening.close();
  });

  test('28: a poll sooner than pollIntervalMs never gets a stale answer', async () => {
    const { url } = await served((errand) => {
      errand.tool('chatty', { task: 'always', pollInterval: '1h' }, async (_args, task) => {
        for (const key of ['one', 'two', 'three', 'four']) {
          await task.elicit(key, { message: key, schema: z.object({ ok: z.boolean() }) });
        }
        return 'all answered';
      });
    });
    const client = wireClient(url);
    const taskId = await client.begin('chatty');
    for (const key of ['one', 'two', 'three', 'four']) {
      await client.asked(taskId, key);
      await client.update(taskId, { [key]: accept({ ok: true }) });
      // Read your own write, at once and however often.
      for (let poll = 0; poll < 5; poll++) {
        const { inputRequests } = await client.get(taskId);
        expect((inputRequests ?? {}) as JsonObject).not.toHaveProperty(key);
      }
    }
    expect(textOf(await client.ended(taskId))).toBe('all answered');
  });
});

describe('CASES Clients', { timeout: 30_000 }, () => {
  test('32: when a client process dies, a new one that knows only endpoint and id fetches the result', async () => {
    const work = gate();
    const { url } = await served((errand) => {
      errand.tool('slow', { task: 'always' }, async () => {
        await work.opened;
        return 'for whoever asks';
      });
    });
    const { line: taskId, kill } = await startProgram('caller.ts', url, 'slow');
    await kill();
    work.open();
    expect(textOf(await wireClient(url).ended(taskId))).toBe('for whoever asks');
  });
});
