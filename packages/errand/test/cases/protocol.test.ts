import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { gate } from '../fixtures/gate.ts';
import { served } from '../fixtures/served.ts';
import { textOf, wireClient } from '../fixtures/wire.ts';

describe('CASES Protocol', { timeout: 30_000 }, () => {
  test('16: a client of this revision that sends params.task has it ignored', async () => {
    const { url } = await served((errand) => {
      errand.tool('quick', {}, () => 'quick');
    });
    const result = await wireClient(url).result('tools/call', { name: 'quick', arguments: {}, task: { ttl: 60_000 } });
    expect(result).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: 'quick' }] });
    expect(result).not.toHaveProperty('taskId');
  });

  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '29: %s without Mcp-Name, or with another, is a 400 with -32020 and does nothing',
    async (method) => {
      const { url } = await served((errand) => {
        errand.tool('wait', { task: 'always' }, async (_args, task) => {
          await task.sleep('1h');
          return 'over';
        });
      });
      const client = wireClient(url);
      const taskId = await client.begin('wait');
      const params = { taskId, ...(method === 'tasks/update' && { inputResponses: {} }) };
      for (const name of [undefined, 'another', `${taskId}, ${taskId}`, taskId.toUpperCase().toLowerCase() + '0']) {
        const { status, error } = await client.send(method, params, { headers: { 'mcp-name': name } });
        expect([name, status, error?.code]).toEqual([name, 400, -32020]);
      }
      expect(await client.get(taskId)).toMatchObject({ status: 'working' });
    },
  );

  test('29: an Mcp-Name that came encoded is the name that it encodes', async () => {
    const { url } = await served((errand) => {
      errand.tool('fine', { task: 'always' }, () => 'fine');
    });
    const client = wireClient(url);
    const taskId = await client.begin('fine');
    const encoded = (text: string) => ({
      headers: { 'mcp-name': `=?base64?${Buffer.from(text).toString('base64')}?=` },
    });
    expect(await client.get(taskId, encoded(taskId))).toMatchObject({ taskId });
    expect((await client.send('tasks/get', { taskId }, encoded('another'))).error?.code).toBe(-32020);
  });

  test('31: one tool answers a quick call with its result and a slow one with a task', async () => {
    const work = gate();
    const { url } = await served((errand) => {
      errand.tool(
        'cook',
        { inputSchema: z.object({ dish: z.string() }), task: 'auto', patience: '1s' },
        async ({ dish }, task) =>
          task.step('cook', async () => {
            if (dish === 'stew') await work.opened;
            return dish;
          }),
      );
    });
    const client = wireClient(url);
    const [quick, slow] = await Promise.all([
      client.call('cook', { dish: 'egg' }),
      client.call('cook', { dish: 'stew' }),
    ]);
    expect(quick).toMatchObject({ resultType: 'complete', content: [{ text: 'egg' }] });
    expect(quick).not.toHaveProperty('taskId');
    expect(slow).toMatchObject({ resultType: 'task', status: 'working' });
    work.open();
    expect(textOf(await client.ended(slow['taskId'] as string))).toBe('stew');
  });
});
