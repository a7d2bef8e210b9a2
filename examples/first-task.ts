// A slow tool, and a client that calls it: the call is answered by a task, and the task ends with the result.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createErrand } from 'errand';
import * as z from 'zod';
import { connect, resultOf } from './client.ts';

const errand = createErrand({ name: 'bakery', version: '1.0.0' });

errand.tool(
  'bake',
  { inputSchema: z.object({ loaves: z.int().positive() }), task: 'always', pollInterval: '100ms' },
  async ({ loaves }, task) => {
    await task.step('knead', () => pause(100));
    task.status('in the oven');
    const weight = await task.step('bake', () => pause(200, loaves * 750));
    return `${loaves} loaves, ${weight} g`;
  },
);

const { url } = await errand.serve({ port: 0 });
const { tasks, close } = await connect(new StreamableHTTPClientTransport(new URL(url)));

const execution = await tasks.callTool('bake', { loaves: 4 });
assert.equal(execution.kind, 'task');
console.log(`task ${execution.handle?.taskId}`);

const { content } = await resultOf(execution);
console.log(content);
assert.deepEqual(content, [{ type: 'text', text: '4 loaves, 3000 g' }]);

await close();
await errand.close();
