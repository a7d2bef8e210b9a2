// An McpServer of the official SDK keeps its tools, prompts and resources, and gains durable tasks beside them.
import assert from 'node:assert/strict';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { createErrand } from 'errand';
import * as z from 'zod';
import { connect, resultOf } from './client.ts';

const INFO = { name: 'weather', version: '1.0.0' };

function weatherServer(): McpServer {
  const server = new McpServer(INFO);
  server.registerTool('now', { inputSchema: z.object({ city: z.string() }) }, ({ city }) => ({
    content: [{ type: 'text', text: `${city}: rain` }],
  }));
  server.registerResource('stations', 'weather://stations', { mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, text: 'Bergen, Oslo' }],
  }));
  server.registerPrompt('report', {}, () => ({
    messages: [{ role: 'user', content: { type: 'text', text: 'Report the weather.' } }],
  }));
  return server;
}

const errand = createErrand({ ...INFO, server: weatherServer });
errand.tool('forecast', { task: 'always', withoutTasks: 'refuse', pollInterval: '100ms' }, async (_args, task) => {
  const millimetres = await task.step('compute', () => 12);
  return `${millimetres} mm tomorrow`;
});

const { url } = await errand.serve({ port: 0 });
const { client, tasks, close } = await connect(new StreamableHTTPClientTransport(new URL(url)));

const { tools } = await client.listTools();
assert.deepEqual(tools.map(({ name }) => name).sort(), ['forecast', 'now']);

const now = await client.callTool({ name: 'now', arguments: { city: 'Bergen' } });
assert.deepEqual(now.content, [{ type: 'text', text: 'Bergen: rain' }]);
const { contents } = await client.readResource({ uri: 'weather://stations' });
assert.deepEqual(contents, [{ uri: 'weather://stations', text: 'Bergen, Oslo' }]);
const { messages } = await client.getPrompt({ name: 'report' });
assert.equal(messages.length, 1);

const forecast = await tasks.callTool('forecast');
assert.equal(forecast.kind, 'task');
assert.deepEqual((await resultOf(forecast)).content, [{ type: 'text', text: '12 mm tomorrow' }]);
console.log('one endpoint:', tools.map(({ name }) => name).join(', '), 'and a resource and a prompt');

await close();
await errand.close();
