import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { createErrand } from '../src/errand.ts';
import type { Store } from '../src/store.ts';
import { memory } from '../src/stores/memory.ts';
import { testClient } from '../src/testing.ts';
import { TASKS } from './fixtures/frames.ts';
import { gate } from './fixtures/gate.ts';
import { served } from './fixtures/served.ts';
import { accept, textOf, wireClient } from './fixtures/wire.ts';

/*
 * What a green run of the public suite does not prove, and no test beside the code shows from outside. The numbers
 * are those of the gaps in `mutants/mutants.mjs`, which puts each fault in and wants it found.
 */

const NAME = z.object({ name: z.string() });

/** A client of a server whose store makes tasks as a test says. */
function greeted(create: (store: Store, ...task: Parameters<Store['create']>) => ReturnType<Store['create']>) {
  const inner = memory();
  const store = new Proxy(inner, {
    get(target, name) {
      if (name === 'create') return (...task: Parameters<Store['create']>) => create(target, ...task);
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  const errand = createErrand({ name: 'gaps', version: '1', store, log: pino({ level: 'silent' }) });
  errand.tool('greet', { task: 'always' }, () => 'Hello');
  onTestFinished(() => errand.close());
  return testClient(errand);
}

const settled = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setTimeout(resolve, 100, false))]);

describe('gap 7: the keys of questions', { timeout: 30_000 }, () => {
  test('are never put twice in the life of a task, also not one after the other', async () => {
    const { url } = await served((errand) => {
      errand.tool('twice', { task: 'always' }, async (_args, task) => {
        await task.elicit('who', { message: 'Who are you?', schema: NAME });
        const again = await task.elicit('who', { message: 'Who are you really?', schema: NAME });
        return again.content?.name ?? 'nobody';
      });
    });
    const client = wireClient(url);
    const taskId = await client.begin('twice');
    await client.asked(taskId, 'who');
    await client.update(taskId, { who: accept({ name: 'Ada' }) });
    // Either it ends, or it asks under the key again.
    const next = await client.until(taskId, ({ status }) => status !== 'working');
    expect(next).not.toHaveProperty('inputRequests');
    expect(next).toMatchObject({ status: 'completed', result: { isError: true } });
    expect(textOf(next)).toMatch(/"who" was used before/);
  });

  test('of rounds that follow each other differ, and a late answer to an old one answers no other', async () => {
    const { url } = await served((errand) => {
      errand.tool('rounds', { task: 'always' }, async (_args, task) => {
        const names: (string | undefined)[] = [];
        for (const key of ['first', 'second']) {
          names.push((await task.elicit(key, { message: `The ${key}?`, schema: NAME })).content?.name);
        }
        return names.join(' and ');
      });
    });
    const client = wireClient(url);
    const taskId = await client.begin('rounds');
    await client.asked(taskId, 'first');
    await client.update(taskId, { first: accept({ name: 'Ada' }) });
    const asked = await client.asked(taskId, 'second');
    await client.update(taskId, { first: accept({ name: 'Eve' }) });
    expect(await client.get(taskId)).toEqual(asked);
    await client.update(taskId, { second: accept({ name: 'Bob' }) });
    expect(textOf(await client.ended(taskId))).toBe('Ada and Bob');
  });
});

describe('gap 13: an error within the server', { timeout: 30_000 }, () => {
  test.each(['always', 'auto'] as const)('is -32603, whether the tool answers %s with a task or not', async (task) => {
    const { url } = await served((errand) => {
      errand.tool('odd', { task }, () => ({ nothing: 'that a tool may answer' }) as never);
    });
    const client = wireClient(url);
    const { status, result, error } = await client.send('tools/call', { name: 'odd', arguments: {} });
    expect(status).toBe(200);
    if (task === 'auto') return expect(error).toMatchObject({ code: -32603 });
    const ended = await client.ended(result!['taskId'] as string);
    expect(ended).toMatchObject({ status: 'failed', error: { code: -32603 } });
  });
});

describe('gap 19: what a request declares', { timeout: 30_000 }, () => {
  test('holds for that request: a later one that declares nothing gets no task, and may not subscribe', async () => {
    const { url } = await served((errand) => {
      errand.tool('always', { task: 'always' }, () => 'done');
    });
    const client = wireClient(url);
    const taskId = await client.begin('always');
    const undeclared = { capabilities: {} };
    expect(await client.call('always', {}, undeclared)).toMatchObject({ resultType: 'complete' });
    const listening = await client.send('subscriptions/listen', { notifications: { taskIds: [taskId] } }, undeclared);
    expect(listening).toMatchObject({ status: 400, error: { code: -32021 } });
    expect(listening.error!.data).toEqual({ requiredCapabilities: { extensions: { [TASKS]: {} } } });
  });
});

describe('gap 20: what was acknowledged', { timeout: 30_000 }, () => {
  test('is written: a call is not answered with a task before that is on disk', async () => {
    const disk = gate();
    const client = greeted(async (store, ...task) => {
      await disk.opened;
      return store.create(...task);
    });
    const created = client.call('greet');
    expect(await settled(created)).toBe(false);
    disk.open();
    const { taskId } = await created;
    expect(await client.read(taskId as string)).toMatchObject({ taskId });
  });

  test('is not acknowledged where it cannot be written: no task is promised that is not there', async () => {
    const client = greeted(() => Promise.reject(new Error('the disk is full')));
    await expect(client.call('greet')).rejects.toMatchObject({ code: -32603 });
  });
});
