import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Errand } from '../../src/errand.ts';
import type { JsonObject } from '../../src/json.ts';
import type { JsonRpcMessage, JsonRpcNotification } from '../../src/jsonrpc.ts';
import { PLAIN_CLIENT, TASKS } from '../fixtures/frames.ts';
import { gate, type Gate } from '../fixtures/gate.ts';
import { served } from '../fixtures/served.ts';
import { accept, wireClient } from '../fixtures/wire.ts';

// What the public suite's `tasks-status-notifications` would ask, had it been written: E-11, E-13 and E-14.

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

function addInterview(errand: Errand, work: Gate): void {
  errand.tool('interview', { task: 'always', pollInterval: '1h' }, async (_args, task) => {
    const answer = await task.elicit('who', { message: 'Who are you?', schema: z.object({ name: z.string() }) });
    await task.step('write', () => work.opened);
    return `Written by ${answer.content?.name ?? 'nobody'}`;
  });
}

/** A state without what only the frame around it adds. */
function stateOf(part: JsonObject | undefined): JsonObject {
  const { resultType: _type, _meta, ...state } = part ?? {};
  return state;
}

describe('subscriptions to tasks', { timeout: 30_000 }, () => {
  test('E-13: say first what was granted, then where the task stands, then every change, each equal to a read', async () => {
    const work = gate();
    const { url } = await served((errand) => addInterview(errand, work));
    const client = wireClient(url);
    const taskId = await client.begin('interview');
    await client.asked(taskId, 'who');

    const listening = await client.listen([taskId]);
    const status = (wanted: string) => listening.next(({ params }) => params?.['status'] === wanted);
    const asked = await status('input_required');
    expect(stateOf(asked.params)).toEqual(stateOf(await client.get(taskId)));

    await client.update(taskId, { who: accept({ name: 'Ada' }) });
    const working = await status('working');
    expect(stateOf(working.params)).toEqual(stateOf(await client.get(taskId)));

    work.open();
    const completed = await status('completed');
    expect(stateOf(completed.params)).toEqual(stateOf(await client.get(taskId)));
    expect(completed.params).toMatchObject({ result: { content: [{ text: 'Written by Ada' }] } });

    const [acknowledged, ...rest] = listening.messages as readonly [JsonRpcNotification, ...JsonRpcMessage[]];
    expect(acknowledged).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: [taskId] } },
    });
    // All under the id of the request that asked for them, and nothing else on the stream (E-14).
    const id = (acknowledged.params!['_meta'] as JsonObject)[SUBSCRIPTION];
    const notifications = rest.filter((message) => 'method' in message);
    expect(new Set(notifications.map(({ method }) => method))).toEqual(new Set(['notifications/tasks']));
    for (const { params } of notifications) expect((params!['_meta'] as JsonObject)[SUBSCRIPTION]).toBe(id);
    listening.close();
  });

  test('grant only tasks that are there for who asks', async () => {
    const work = gate();
    const { url } = await served((errand) => addInterview(errand, work));
    const client = wireClient(url);
    const taskId = await client.begin('interview');
    const listening = await client.listen(['no-such-task', taskId]);
    await listening.next(({ method }) => method === 'notifications/tasks');
    expect(listening.messages[0]).toMatchObject({ params: { notifications: { taskIds: [taskId] } } });
    listening.close();
  });

  test('tell every subscriber of an end that came from somebody else', async () => {
    const work = gate();
    const { url } = await served((errand) => addInterview(errand, work));
    const taskId = await wireClient(url).begin('interview');
    const all = await Promise.all([1, 2, 3].map(() => wireClient(url).listen([taskId])));
    await wireClient(url).cancel(taskId);
    for (const listening of all) {
      await listening.next(({ params }) => params?.['status'] === 'cancelled');
      listening.close();
    }
  });

  test('E-11: are refused with -32021 to a client that did not declare the extension', async () => {
    const work = gate();
    const { url } = await served((errand) => addInterview(errand, work));
    const client = wireClient(url);
    const params = { notifications: { taskIds: [await client.begin('interview')] } };
    const { status, error } = await client.send('subscriptions/listen', params, { capabilities: PLAIN_CLIENT });
    expect(status).toBe(400);
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } });
  });
});
