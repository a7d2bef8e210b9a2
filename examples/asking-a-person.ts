// A task asks the person behind the client. While it waits it holds no memory, and survives restarts.
import assert from 'node:assert/strict';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createErrand } from 'errand';
import * as z from 'zod';
import { connect, resultOf } from './client.ts';

const errand = createErrand({ name: 'travel', version: '1.0.0' });

errand.tool(
  'book',
  { inputSchema: z.object({ city: z.string() }), task: 'always', deadline: '7d', pollInterval: '100ms' },
  async ({ city }, task) => {
    const price = await task.step('look up the price', () => city.length * 100);
    const answer = await task.elicit('approve', {
      message: `A room in ${city} costs ${price}. Book it?`,
      schema: z.object({ nights: z.int().min(1).max(30) }),
      timeout: '1d',
    });
    if (answer.action !== 'accept') return 'not booked';
    return `booked ${answer.content.nights} nights for ${price * answer.content.nights}`;
  },
);

const { url } = await errand.serve({ port: 0 });
const questions: unknown[] = [];
const { tasks, close } = await connect(new StreamableHTTPClientTransport(new URL(url)), ({ message }) => {
  questions.push(message);
  return String(message).includes('Oslo') ? { action: 'accept', content: { nights: 3 } } : { action: 'decline' };
});

const oslo = await resultOf(await tasks.callTool('book', { city: 'Oslo' }));
assert.deepEqual(oslo.content, [{ type: 'text', text: 'booked 3 nights for 1200' }]);
const reykjavik = await resultOf(await tasks.callTool('book', { city: 'Reykjavik' }));
assert.deepEqual(reykjavik.content, [{ type: 'text', text: 'not booked' }]);
assert.equal(questions.length, 2);
console.log(questions);

await close();
await errand.close();
