import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/json.ts';
import type { JsonRpcMessage } from '../../src/jsonrpc.ts';
import * as z from 'zod';
import { cutRequest } from '../fixtures/cut.ts';
import { frame, TASK_CLIENT, VERSION } from '../fixtures/frames.ts';
import { gate } from '../fixtures/gate.ts';
import { served } from '../fixtures/served.ts';
import { stdioWire } from '../fixtures/stdio-wire.ts';
import { accept, textOf, wireClient } from '../fixtures/wire.ts';

describe('CASES Cancel and progress', { timeout: 30_000 }, () => {
  test('22: neither notifications/cancelled nor a cut connection of the call cancels its task over HTTP', async () => {
    const work = gate();
    const aborted: string[] = [];
    const { url } = await served((errand) => {
      errand.tool('dig', { task: 'always' }, async (_args, task) => {
        task.signal.addEventListener('abort', () => aborted.push('dig'));
        await work.opened;
        return 'dug';
      });
    });
    const client = wireClient(url);
    const created = await client.send('tools/call', { name: 'dig', arguments: {} });
    const taskId = created.result!['taskId'] as string;
    const requestId = (created.messages[0] as { id: number }).id;

    const headers = { 'content-type': 'application/json', 'mcp-protocol-version': VERSION };
    const body = JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId, reason: 'bored' },
    });
    const { status } = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'mcp-method': 'notifications/cancelled' },
      body,
    });
    expect(status).toBe(202);

    // A listener that goes away takes nothing with it either.
    const listening = await client.listen([taskId]);
    await listening.next(({ method }) => method === 'notifications/tasks');
    listening.close();

    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await client.get(taskId)).toMatchObject({ status: 'working' });
    expect(aborted).toEqual([]);
    work.open();
    expect(textOf(await client.ended(taskId))).toBe('dug');
  });

  test('22: a connection that is cut right after the call was sent leaves the task to its work', async () => {
    const work = gate();
    const begun: string[] = [];
    const { url } = await served((errand) => {
      errand.tool('dig', { task: 'always' }, async (_args, task) => {
        begun.push(task.id);
        await work.opened;
        return 'dug';
      });
    });
    // Whether the server sees a caller go before or after it has committed the task is up to the machine.
    const cuts = Array.from({ length: 10 }, (_, id) =>
      frame(id, 'tools/call', { name: 'dig', arguments: {} }, TASK_CLIENT),
    );
    for (const request of cuts) await cutRequest(url, request, 'sent');
    await expect.poll(() => begun.length, { timeout: 10_000 }).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const client = wireClient(url);
    for (const taskId of begun) expect(await client.get(taskId)).toMatchObject({ status: 'working' });
    work.open();
    for (const taskId of begun) expect(textOf(await client.ended(taskId))).toBe('dug');
  });

  test('22: notifications/cancelled for the call does not cancel its task over stdio', async () => {
    const wire = await stdioWire();
    const created = await wire.request('tools/call', { name: 'publish', arguments: { page: 'news' } });
    const taskId = (created as { result: JsonObject }).result['taskId'] as string;
    wire.notify('notifications/cancelled', { requestId: (created as { id: number }).id });
    const read = async () => ((await wire.request('tasks/get', { taskId })) as { result: JsonObject }).result;
    await expect.poll(read, { timeout: 5000 }).toMatchObject({ status: 'input_required' });
    await wire.request('tasks/update', { taskId, inputResponses: { approve: accept({ go: true }) } });
    await expect.poll(read, { timeout: 5000 }).toMatchObject({ status: 'completed' });
  });

  test('23: cancelling a task that has ended is acknowledged', async () => {
    const { url } = await served((errand) => {
      errand.tool('fine', { task: 'always' }, () => 'fine');
    });
    const client = wireClient(url);
    const taskId = await client.begin('fine');
    await client.ended(taskId);
    for (let time = 0; time < 2; time++) {
      const { status, result } = await client.send('tasks/cancel', { taskId });
      expect(status).toBe(200);
      expect(Object.keys(result!).filter((key) => key !== '_meta')).toEqual(['resultType']);
    }
  });

  test('25: no progress and no log message is ever sent for a task', async () => {
    const { url } = await served((errand) => {
      errand.tool(
        'busy',
        { inputSchema: z.object({ rounds: z.number() }), task: 'auto', patience: '100ms' },
        async ({ rounds }, task) => {
          for (let round = 1; round <= rounds; round++) {
            task.status(`round ${round}`);
            task.log.error({ round }, 'at work');
            await task.sleep('60ms');
          }
          await task.elicit('more', { message: 'More?', schema: z.object({ more: z.boolean() }) });
          return 'enough';
        },
      );
    });
    // Somebody who asks for everything that there is to hear.
    const all = { _meta: { progressToken: 'token', 'io.modelcontextprotocol/logLevel': 'debug' } };
    const client = wireClient(url);
    const seen: JsonRpcMessage[] = [];
    const send = async (method: string, params: JsonObject) => {
      const answered = await client.send(method, { ...params, ...all });
      seen.push(...answered.messages);
      return answered.result!;
    };
    const { taskId } = (await send('tools/call', { name: 'busy', arguments: { rounds: 5 } })) as { taskId: string };
    const listening = await client.listen([taskId]);
    const status = (wanted: string) =>
      listening.next(({ method, params }) => method === 'notifications/tasks' && params?.['status'] === wanted);
    await send('tasks/get', { taskId });
    await status('input_required');
    await send('tasks/update', { taskId, inputResponses: { more: accept({ more: false }) } });
    await status('completed');
    await send('tasks/get', { taskId });
    listening.close();
    expect(seen.map((message) => 'result' in message)).toEqual([true, true, true, true]);

    seen.push(...listening.messages);
    const methods = seen.flatMap((message) => ('method' in message ? [message.method] : []));
    expect(new Set(methods)).toEqual(new Set(['notifications/subscriptions/acknowledged', 'notifications/tasks']));

    // There is no other stream on which they could come.
    expect((await fetch(url, { headers: { accept: 'text/event-stream' } })).status).toBe(405);
  });
});
