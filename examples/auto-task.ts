// One tool, decided per call: the plain result when it is quick, a task when it is not.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createErrand } from 'errand';
import * as z from 'zod';
import { connect, resultOf } from './client.ts';

const errand = createErrand({ name: 'library', version: '1.0.0' });

errand.tool(
  'search',
  {
    inputSchema: z.object({ shelves: z.int() }),
    outputSchema: z.object({ found: z.int() }),
    task: 'auto',
    patience: '300ms',
    pollInterval: '100ms',
  },
  async ({ shelves }, task) => {
    const found = await task.step('walk along the shelves', () => pause(shelves * 20, shelves * 2));
    return { content: [{ type: 'text', text: `${found} books` }], structuredContent: { found } };
  },
);

const { url } = await errand.serve({ port: 0 });
const { tasks, close } = await connect(new StreamableHTTPClientTransport(new URL(url)));

for (const [shelves, kind] of [
  [1, 'immediate'],
  [40, 'task'],
] as const) {
  const execution = await tasks.callTool('search', { shelves });
  const { structuredContent } = await resultOf(execution);
  console.log(`${shelves} shelves: ${execution.kind}`);
  assert.equal(execution.kind, kind);
  assert.deepEqual(structuredContent, { found: shelves * 2 });
}

await close();
await errand.close();
