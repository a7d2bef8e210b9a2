// Calls a tool of an MCP server over HTTP, waits for its task, and puts its questions to you.
//   npx tsx examples/call.ts <url> <tool> [name=value ... | '{"name": "value"}']
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { taskViewFromExecutionEvent } from '@modelcontextprotocol/ext-tasks/client';
import { connect, resultOf } from './client.ts';
import { fillIn, readLines } from './form.ts';

const [url, tool, ...words] = process.argv.slice(2);
if (url === undefined || tool === undefined) {
  console.error(`usage: npx tsx examples/call.ts <url> <tool> [name=value ... | '{"name": "value"}']`);
  process.exit(2);
}

function argumentsFrom([first, ...rest]: readonly string[]): Record<string, string | number | boolean> {
  if (first === undefined) return {};
  if (first.startsWith('{')) return JSON.parse(first) as Record<string, string>;
  const [name = '', value = ''] = first.split(/=(.*)/s);
  const isLiteral = /^(-?\d+(\.\d+)?|true|false)$/.test(value);
  return { [name]: isLiteral ? (JSON.parse(value) as number | boolean) : value, ...argumentsFrom(rest) };
}

const lines = readLines();
try {
  const transport = new StreamableHTTPClientTransport(new URL(url));
  const { tasks, close } = await connect(transport, (question) => fillIn(question, lines), url);
  const execution = await tasks.callTool(tool, argumentsFrom(words));
  if (execution.kind === 'task') console.error(`task ${execution.handle.taskId}`);
  let shown = '';
  for await (const event of execution.updates()) {
    const { status, statusMessage = '' } = taskViewFromExecutionEvent(event) ?? {};
    const line = `${status} ${statusMessage}`;
    // A question shows itself.
    if (status !== undefined && status !== 'input_required' && line !== shown) console.error(line);
    shown = line;
  }
  const { content, isError } = await resultOf(execution);
  for (const block of content) console.log(block.type === 'text' ? block.text : block);
  process.exitCode = isError ? 1 : 0;
  await close();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  lines.close();
}
