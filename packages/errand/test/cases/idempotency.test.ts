import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { JsonObject } from '../../src/json.ts';
import { accept, textOf, wireClient } from '../fixtures/wire.ts';
import { PLAIN_CLIENT } from '../fixtures/frames.ts';
import { gate } from '../fixtures/gate.ts';
import { served } from '../fixtures/served.ts';

const KEY = '3f0d6c1e-7a52-4b4e-9d57-1f3f5e0f1c2a';

/** The params of a call under a key. */
const under = (key: unknown, name: string, args: JsonObject = {}): JsonObject => ({
  name,
  arguments: args,
  _meta: { 'dev.errand/idempotencyKey': key } as JsonObject,
});

describe('CASES Protocol and clients', { timeout: 60_000 }, () => {
  test('30: the same idempotency key twice is one task, one execution, the same handle', async () => {
    let runs = 0;
    const server = await served((errand) => {
      errand.tool('send', { task: 'always' }, async (_, task) => `sent ${await task.step('send', () => ++runs)}`);
    });
    const client = wireClient(server.url);
    const call = () => client.result('tools/call', under(KEY, 'send', { to: 'me' }));
    const [one, two] = await Promise.all([call(), call()]);
    expect(one['taskId']).toBe(two['taskId']);
    const ended = await client.ended(one['taskId'] as string);
    expect(textOf(ended)).toBe('sent 1');
    expect(await call()).toMatchObject({ resultType: 'task', taskId: one['taskId'], status: 'completed' });
    await server.restart();
    expect(await call()).toMatchObject({ resultType: 'task', taskId: one['taskId'], status: 'completed' });
    expect(runs).toBe(1);
  });

  test('30: a quick call is answered with the result of its task again', async () => {
    let runs = 0;
    const server = await served((errand) => {
      errand.tool('count', { patience: '20s' }, async (_, task) => `${await task.step('count', () => ++runs)}`);
    });
    const client = wireClient(server.url);
    const call = () => client.result('tools/call', under(KEY, 'count'));
    const answers = await Promise.all([call(), call(), call()]);
    await server.restart();
    for (const answer of [...answers, await call()]) {
      expect(answer['resultType']).toBe('complete');
      expect(textOf(answer)).toBe('1');
    }
    expect(runs).toBe(1);
  });

  test('30: a slow call of that tool is answered with its task, also once that has ended', async () => {
    const work = gate();
    const { url } = await served((errand) => {
      errand.tool('slow', { patience: '50ms' }, async () => {
        await work.opened;
        return 'done';
      });
    });
    const client = wireClient(url);
    const first = await client.result('tools/call', under(KEY, 'slow'));
    expect(first).toMatchObject({ resultType: 'task', status: 'working' });
    work.open();
    await client.ended(first['taskId'] as string);
    const again = await client.result('tools/call', under(KEY, 'slow'));
    expect(again).toMatchObject({ resultType: 'task', taskId: first['taskId'], status: 'completed' });
  });

  test('30: a client without tasks gets the result of the one task, however often it asks', async () => {
    let runs = 0;
    const { url } = await served((errand) => {
      errand.tool('order', { task: 'always' }, async (_, task) => {
        const { content } = await task.elicit('sure', {
          message: 'Sure?',
          schema: z.object({ yes: z.boolean() }),
        });
        return `${await task.step('order', () => ++runs)} ${JSON.stringify(content)}`;
      });
    });
    const client = wireClient(url, { capabilities: PLAIN_CLIENT });
    const params = under(KEY, 'order');
    const asked = await Promise.all([client.result('tools/call', params), client.result('tools/call', params)]);
    for (const answer of asked)
      expect(answer).toMatchObject({ resultType: 'input_required', inputRequests: { sure: {} } });
    const answers = { inputResponses: { sure: accept({ yes: true }) }, requestState: asked[1]['requestState']! };
    expect(textOf(await client.result('tools/call', { ...params, ...answers }))).toBe('1 {"yes":true}');
    expect(textOf(await client.result('tools/call', params))).toBe('1 {"yes":true}');
  });

  test('30: the same key with other arguments is a clear error, and for another tool another task', async () => {
    const { url } = await served((errand) => {
      errand.tool('send', { task: 'always' }, () => 'sent');
      errand.tool('other', { task: 'always' }, () => 'sent');
    });
    const client = wireClient(url);
    const first = await client.result('tools/call', under(KEY, 'send', { a: 1, b: 2 }));
    expect(await client.result('tools/call', under(KEY, 'send', { b: 2, a: 1 }))).toMatchObject({
      taskId: first['taskId'],
    });
    const { error } = await client.send('tools/call', under(KEY, 'send', { a: 2, b: 2 }));
    expect(error).toMatchObject({ code: -31009, message: expect.stringContaining('with other arguments') });
    const other = await client.result('tools/call', under(KEY, 'other', { a: 2 }));
    expect(other['taskId']).not.toBe(first['taskId']);
  });

  test('30: the keys of steps derive from the key of the call', async () => {
    const { url } = await served((errand) => {
      errand.tool('pay', { task: 'always', deadline: '300ms', retention: '1ms' }, async (_, task) =>
        task.step('pay', ({ key }) => key),
      );
    });
    const client = wireClient(url);
    const pay = async (key: string) => {
      const { taskId } = await client.result('tools/call', under(key, 'pay'));
      return { taskId, step: textOf(await client.ended(taskId as string)) };
    };
    const first = await pay(KEY);
    const other = await pay(`${KEY}-other`);
    await new Promise((resolve) => setTimeout(resolve, 400));
    const forgotten = await pay(KEY);
    expect(forgotten.taskId).not.toBe(first.taskId);
    expect(forgotten.step).toBe(first.step);
    expect(other.step).not.toBe(first.step);
  });

  test.each([
    ['too short for an anonymous caller', 'guessable', '32 characters'],
    ['too long', 'x'.repeat(257), '1 to 256 characters'],
    ['no text', 7, 'must be a string'],
  ])('30: a key that is %s is refused', async (_, key, message) => {
    const { url } = await served((errand) => void errand.tool('send', { task: 'always' }, () => 'sent'));
    const { error } = await wireClient(url).send('tools/call', under(key, 'send'));
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(message) });
  });
});
