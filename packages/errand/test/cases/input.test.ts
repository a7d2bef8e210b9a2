import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { JsonObject } from '../../src/json.ts';
import { served, temporaryFolder } from '../fixtures/served.ts';
import { serverProcess } from '../fixtures/server-process.ts';
import { accept, textOf, wireClient } from '../fixtures/wire.ts';

const NAME = z.object({ name: z.string() });

describe('CASES Input', { timeout: 30_000 }, () => {
  test(
    '17: an acknowledged answer reaches the handler exactly once, also when the server dies right after it',
    { timeout: 60_000 },
    async () => {
      const folder = await temporaryFolder();
      const [file, log] = [path.join(folder, 'tasks.db'), path.join(folder, 'effects.log')];
      let server = await serverProcess('recovery-server.ts', file, log);

      for (const label of ['lease', 'will', 'deed']) {
        const before = wireClient(server.url);
        const taskId = await before.begin('sign', { label });
        await before.asked(taskId, 'signature');
        await before.update(taskId, { signature: accept({ name: 'Ada' }) });
        await server.kill();

        server = await serverProcess('recovery-server.ts', file, log);
        const after = wireClient(server.url);
        // The question is not put again, and who answers it once more is not heard.
        expect(await after.get(taskId)).not.toHaveProperty('inputRequests');
        await after.update(taskId, { signature: accept({ name: 'Eve' }) });
        expect(textOf(await after.ended(taskId))).toBe(`${label} signed by Ada`);
      }
      expect((await readFile(log, 'utf8')).trim().split('\n')).toEqual([
        'lease signed by Ada',
        'will signed by Ada',
        'deed signed by Ada',
      ]);
    },
  );

  test('19: an update with a known and an unknown key is acknowledged, and the known one applied', async () => {
    const { url } = await served((errand) => {
      errand.tool('greet', { task: 'always' }, async (_args, task) => {
        const answer = await task.elicit('who', { message: 'Who?', schema: NAME });
        return `Hello, ${answer.content?.name ?? 'nobody'}`;
      });
    });
    const client = wireClient(url);
    const taskId = await client.begin('greet');
    await client.asked(taskId, 'who');
    const acknowledged = await client.update(taskId, { who: accept({ name: 'Ada' }), nobody: accept({ name: 'Eve' }) });
    const { resultType, _meta, ...rest } = acknowledged;
    expect(resultType).toBe('complete');
    expect(rest).toEqual({});
    expect(textOf(await client.ended(taskId))).toBe('Hello, Ada');
  });

  test('19: an unknown key by itself is acknowledged and answers nothing', async () => {
    const { url } = await served((errand) => {
      errand.tool('greet', { task: 'always' }, async (_args, task) => {
        return JSON.stringify(await task.elicit('who', { message: 'Who?', schema: NAME }));
      });
    });
    const client = wireClient(url);
    const taskId = await client.begin('greet');
    const asked = await client.asked(taskId, 'who');
    await client.update(taskId, { whom: accept({ name: 'Eve' }) });
    expect(await client.get(taskId)).toEqual(asked);
  });

  test('21: with two questions open, answering one neither completes the task nor hides the other', async () => {
    const used: string[] = [];
    const { url } = await served((errand) => {
      errand.tool('pair', { task: 'always' }, async (_args, task) => {
        const ask = async (key: string) => {
          const answer = await task.elicit(key, { message: `Who is ${key}?`, schema: NAME });
          await task.step(`use-${key}`, () => void used.push(key));
          return answer.content?.name ?? 'nobody';
        };
        return (await Promise.all([ask('left'), ask('right')])).join(' and ');
      });
    });
    const client = wireClient(url);
    const taskId = await client.begin('pair');
    const both = await client.asked(taskId, 'left', 'right');
    await client.update(taskId, { right: accept({ name: 'Bob' }) });

    const one = await client.get(taskId);
    expect(one['status']).toBe('input_required');
    expect(Object.keys(one['inputRequests'] as JsonObject)).toEqual(['left']);
    expect((one['inputRequests'] as JsonObject)['left']).toEqual((both['inputRequests'] as JsonObject)['left']);

    // The branch that has its answer goes on while the other still waits.
    await expect.poll(() => used, { timeout: 5000 }).toEqual(['right']);
    expect(await client.get(taskId)).toMatchObject({ status: 'input_required', inputRequests: { left: {} } });

    await client.update(taskId, { left: accept({ name: 'Ann' }) });
    expect(textOf(await client.ended(taskId))).toBe('Ann and Bob');
    expect(used).toEqual(['right', 'left']);
  });
});
