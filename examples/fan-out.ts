// One task counts the birds of 300 lakes: a subtask for each, eight at a time, and a sum when all have ended. Some
// lakes are frozen; the task hears of it, and goes on. Whoever looks at the task sees how many lakes are counted.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { taskViewFromExecutionEvent } from '@modelcontextprotocol/ext-tasks/client';
import { createErrand } from 'errand';
import * as z from 'zod';
import { connect, resultOf, textOf } from './client.ts';

const errand = createErrand({ name: 'birds', version: '1.0.0' });
let boats = 0;
let mostBoats = 0;

errand.tool('count', { inputSchema: z.object({ lake: z.int() }), concurrency: 8 }, async ({ lake }, task) => {
  const birds = await task.step('row out', async () => {
    mostBoats = Math.max(mostBoats, ++boats);
    await pause(10);
    boats--;
    return lake % 100 === 0 ? null : lake * 10;
  });
  if (birds === null) return { content: [{ type: 'text', text: 'frozen' }], isError: true };
  return { content: [{ type: 'text', text: `${birds} birds` }], structuredContent: { birds } };
});

errand.tool(
  'census',
  { inputSchema: z.object({ lakes: z.int() }), task: 'always', pollInterval: '50ms' },
  async ({ lakes }, task) => {
    const numbers = Array.from({ length: lakes }, (_, index) => index + 1);
    // A lake that cannot be counted is no reason to stop. Without `onFailure` awaiting it would throw.
    const counts = numbers.map((lake) => task.subtask(`lake-${lake}`, 'count', { lake }, { onFailure: 'return' }));
    const results = await Promise.all(counts);
    const counted = results.filter(({ isError }) => !isError);
    const birds = counted.map(({ structuredContent }) => (structuredContent as { birds: number }).birds);
    return `${birds.reduce((sum, some) => sum + some)} birds on ${birds.length} lakes, ${lakes - birds.length} frozen`;
  },
);

const { url } = await errand.serve({ port: 0 });
const { tasks, close } = await connect(new StreamableHTTPClientTransport(new URL(url)));
const execution = await tasks.callTool('census', { lakes: 300 });
let shown = '';
for await (const event of execution.updates()) {
  const { statusMessage = '' } = taskViewFromExecutionEvent(event) ?? {};
  if (statusMessage !== shown) console.log(statusMessage);
  shown = statusMessage;
}
const text = textOf(await resultOf(execution));
await close();
await errand.close();

console.log(text);
console.log(`${mostBoats} boats at once`);
assert.equal(text, '445500 birds on 297 lakes, 3 frozen');
assert.equal(mostBoats, 8);
