// The same tools over stdin and stdout. Run alone, this file starts itself as a server and calls it.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createErrand } from 'errand';
import * as z from 'zod';
import { connect, resultOf } from './client.ts';

async function serve(): Promise<void> {
  const errand = createErrand({ name: 'translator', version: '1.0.0' });
  errand.tool(
    'translate',
    { inputSchema: z.object({ text: z.string() }), task: 'always', pollInterval: '100ms' },
    async ({ text }, task) => {
      const { action, content } = await task.elicit('language', {
        message: 'Into which language?',
        schema: z.object({ language: z.enum(['latin', 'greek']) }),
      });
      return action === 'accept' ? `${text}, in ${content.language}` : 'not translated';
    },
  );
  const { closed } = await errand.stdio();
  await closed;
  await errand.close();
}

async function call(): Promise<void> {
  const args = [...process.execArgv, fileURLToPath(import.meta.url), 'serve'];
  const transport = new StdioClientTransport({ command: process.execPath, args });
  const { tasks, close } = await connect(transport, () => ({ action: 'accept', content: { language: 'latin' } }));
  const execution = await tasks.callTool('translate', { text: 'good day' });
  const { content } = await resultOf(execution);
  console.log(execution.kind, content);
  assert.equal(execution.kind, 'task');
  assert.deepEqual(content, [{ type: 'text', text: 'good day, in latin' }]);
  await close();
}

await (process.argv[2] === 'serve' ? serve() : call());
