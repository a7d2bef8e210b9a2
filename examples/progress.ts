// A tool that shows how far it is. Whoever polls its task reads it there. A host that knows nothing of tasks, whose call
// is held, is sent the same as progress notifications, from the second second on. The numbers never fall, also where
// there is more to do than it seemed at first.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { taskViewFromExecutionEvent } from '@modelcontextprotocol/ext-tasks/client';
import { createErrand } from 'errand';
import * as z from 'zod';
import { connect, resultOf, textOf } from './client.ts';

const errand = createErrand({ name: 'archive', version: '1.0.0' });

errand.tool(
  'scan',
  { inputSchema: z.object({ book: z.string() }), task: 'always', pollInterval: '50ms' },
  async ({ book }, task) => {
    const pages = ['cover', 'contents', 'chapter one', 'chapter two'];
    const scan = (page: string) => task.step(`scan ${page}`, () => pause(250));
    for await (const page of task.track(pages)) await scan(page); // 0 of 4, 1 of 4, ...
    await scan('appendix');
    task.progress(5, 6);
    await scan('back');
    task.progress(6, 6);
    return `${book} has 6 pages`;
  },
);

const { url } = await errand.serve({ port: 0 });
const { client, tasks, close } = await connect(new StreamableHTTPClientTransport(new URL(url)));

const polled: string[] = [];
const execution = await tasks.callTool('scan', { book: 'Moby-Dick' });
for await (const event of execution.updates()) {
  const { statusMessage } = taskViewFromExecutionEvent(event) ?? {};
  if (statusMessage !== undefined && statusMessage !== polled.at(-1)) polled.push(statusMessage);
}
const text = textOf(await resultOf(execution));
console.log('whoever polls reads:     ', polled.join(', '));

const sent: string[] = [];
const held = await client.callTool(
  { name: 'scan', arguments: { book: 'Moby-Dick' } },
  { onprogress: ({ progress, total }) => void sent.push(`${progress} of ${total}`) },
);
console.log('who waits for it is sent:', sent.join(', '));
await close();
await errand.close();

assert.equal(text, 'Moby-Dick has 6 pages');
assert.equal(textOf(held), text);
for (const seen of [polled, sent]) {
  const numbers = seen.map((text) => Number.parseInt(text));
  assert.deepEqual(
    numbers,
    [...numbers].sort((one, other) => one - other),
  );
  assert.equal(seen.at(-1), '6 of 6');
}
