// A subtask asks a person. The client is the official one, which knows nothing of subtasks: it is asked by the task
// that it called, under the key of the subtask and that of its question, and what it answers goes to the subtask.
import assert from 'node:assert/strict';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createErrand } from 'errand';
import * as z from 'zod';
import { connect, resultOf, textOf } from './client.ts';

const errand = createErrand({ name: 'expenses', version: '1.0.0' });
const Item = z.object({ what: z.string(), cost: z.number() });

errand.tool('approve', { inputSchema: Item }, async ({ what, cost }, task) => {
  if (cost < 100) return String(cost);
  const { content } = await task.elicit('amount', {
    message: `${what} for ${cost}: how much of it is paid?`,
    schema: z.object({ paid: z.number().min(0).max(cost) }),
  });
  return String(content?.paid ?? 0);
});

errand.tool(
  'settle',
  { inputSchema: z.object({ items: z.array(Item) }), task: 'always', deadline: '30d', pollInterval: '50ms' },
  async ({ items }, task) => {
    const approvals = await Promise.all(items.map((item) => task.subtask(item.what, 'approve', item)));
    const paid = approvals.map(({ content: [text] }) => Number(text?.['text']));
    return `${paid.join(' + ')} = ${paid.reduce((sum, part) => sum + part)}`;
  },
);

const { url } = await errand.serve({ port: 0 });
const asked: string[] = [];
const { tasks, close } = await connect(new StreamableHTTPClientTransport(new URL(url)), ({ message }, key) => {
  asked.push(`${key}: ${String(message)}`);
  return key === 'hotel/amount' ? { action: 'accept', content: { paid: 300 } } : { action: 'decline' };
});

const items = [
  { what: 'train', cost: 80 },
  { what: 'hotel', cost: 420 },
  { what: 'dinner', cost: 150 },
];
const text = textOf(await resultOf(await tasks.callTool('settle', { items })));
await close();
await errand.close();

console.log(asked.join('\n'));
console.log(text);
assert.deepEqual(asked.sort(), [
  'dinner/amount: dinner for 150: how much of it is paid?',
  'hotel/amount: hotel for 420: how much of it is paid?',
]);
assert.equal(text, '80 + 300 + 0 = 380');
