// A host that has never heard of tasks uses a tool that takes longer than it waits, and that asks a person on the way.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client';
import { createErrand } from 'errand';
import * as z from 'zod';

// Most hosts give a call up after 60 s, so 45 s is the default; this one is in a hurry.
const errand = createErrand({ name: 'bakery', version: '1.0.0', holdFor: '500ms' });
errand.tool(
  'bake',
  {
    description: 'Bakes a cake',
    inputSchema: z.object({ cake: z.string() }),
    outputSchema: z.object({ cake: z.string(), candles: z.number() }),
  },
  async ({ cake }, task) => {
    task.status('the oven is on');
    await task.step('bake', () => delay(1500));
    const schema = z.object({ candles: z.int().positive() });
    const { content } = await task.elicit('candles', { message: `How many candles on the ${cake}?`, schema });
    const candles = content?.candles ?? 0;
    return {
      content: [{ type: 'text', text: `a ${cake} with ${candles} candles` }],
      structuredContent: { cake, candles },
    };
  },
);
const { url } = await errand.serve({ port: 0 });

// The official client, which declares no tasks, nor that anybody can be asked.
const client = new Client({ name: 'host', version: '1.0.0' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

/** Calls a tool, and shows what the model behind the host reads of it. */
async function call(name: string, args: Record<string, unknown>): Promise<CallToolResult> {
  const result = await client.callTool({ name, arguments: args });
  console.log(`\n> ${name} ${JSON.stringify(args)}`);
  for (const block of result.content) if (block.type === 'text') console.log(block.text);
  return result;
}

const { tools } = await client.listTools();
console.log(tools.map((tool) => tool.name).join(', '));
assert.deepEqual(
  tools.map((tool) => tool.name),
  ['bake', 'task_status', 'task_answer', 'task_cancel'],
);

const handed = await call('bake', { cake: 'plum cake' });
const { taskId, status } = handed.structuredContent as { taskId: string; status: string };
assert.equal(status, 'working');

const asked = await call('task_status', { taskId }); // waits for news
assert.equal((asked.structuredContent as { status: string }).status, 'input_required');

const wrong = await call('task_answer', {
  taskId,
  answers: { candles: { action: 'accept', content: { candles: -1 } } },
});
assert.equal(wrong.isError, true);

await call('task_answer', { taskId, answers: { candles: { action: 'accept', content: { candles: 7 } } } });
const done = await call('task_status', { taskId });
assert.deepEqual(done.structuredContent, { cake: 'plum cake', candles: 7 });

await client.close();
await errand.close();
