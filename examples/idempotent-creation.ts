// A client whose connection is cut cannot know whether there is a task. It names its call by a key, calls again, and
// gets the task that it made: however often it calls, the work is done once.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createErrand } from 'errand';
import * as z from 'zod';
import { connect, resultOf, textOf } from './client.ts';

const errand = createErrand({ name: 'shop', version: '1.0.0' });
const ordered: string[] = [];

errand.tool('order', { inputSchema: z.object({ item: z.string() }), pollInterval: '50ms' }, async ({ item }, task) => {
  const number = await task.step('order', async () => {
    const position = ordered.push(item);
    await pause(300);
    return position;
  });
  return `${item}: order ${number}`;
});

const { url } = await errand.serve({ port: 0 });

/** Calls over a connection of its own, which may be cut. */
async function order(item: string, key: string, signal?: AbortSignal) {
  const { tasks, close } = await connect(new StreamableHTTPClientTransport(new URL(url)));
  const metadata = { 'dev.errand/idempotencyKey': key };
  try {
    const execution = await tasks.callTool('order', { item }, { metadata, ...(signal && { signal }) });
    return textOf(await resultOf(execution));
  } finally {
    await close();
  }
}

const key = crypto.randomUUID(); // kept until the order is through
const cut = new AbortController();
const first = order('lamp', key, cut.signal);
while (ordered.length === 0) await pause(5);
cut.abort(new Error('the connection is cut'));
await assert.rejects(first);
console.log('cut while the lamp is being ordered');

const second = await order('lamp', key);
console.log('called again:', second);
assert.equal(second, 'lamp: order 1');
assert.equal(await order('lamp', key), second);
assert.deepEqual(ordered, ['lamp']);

// Another call under the same key is a mistake of the client, and it is told so.
await assert.rejects(order('sofa', key), (error: Error) => {
  console.log('a sofa under the same key:', error.message);
  return error.message.includes('idempotency key');
});
assert.equal(await order('sofa', crypto.randomUUID()), 'sofa: order 2');
console.log('ordered:', ordered.join(', '));
assert.deepEqual(ordered, ['lamp', 'sofa']);
await errand.close();
