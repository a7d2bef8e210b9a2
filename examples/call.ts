// Calls a tool of an MCP server over HTTP, waits for its task, and puts its questions to you.
// Or goes on with a task that was made before, perhaps by somebody else.
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { taskViewFromExecutionEvent } from '@modelcontextprotocol/ext-tasks/client';
import { taskId } from '@modelcontextprotocol/ext-tasks/core';
import { connect, resultOf } from './client.ts';
import { fillIn, readLines } from './form.ts';

const USAGE = `usage: npx tsx examples/call.ts <url> <tool> [name=value ... | '{"name": "value"}']
       npx tsx examples/call.ts <url> --task <task id>`;

const [url, tool, ...words] = process.argv.slice(2);
if (url === undefined || tool === undefined) {
  console.error(USAGE);
  process.exit(2);
}

function argumentsFrom([first, ...rest]: readonly string[]): Record<string, string | number | boolean> {
  if (first === undefined) return {};
  if (first.startsWith('{')) return JSON.parse(first) as Record<string, string>;
  const [name = '', value = ''] = first.split(/=(.*)/s);
  const isLiteral = /^(-?\d+(\.\d+)?|true|false)$/.test(value);
  return { [name]: isLiteral ? (JSON.parse(value) as number | boolean) : value, ...argumentsFrom(rest) };
}

const MADE_BEFORE = { generation: 'v2', originalOperation: 'tools/call' } as const;

const lines = readLines();
try {
  const transport = new StreamableHTTPClientTransport(new URL(url));
  const { tasks, close } = await connect(transport, (question) => fillIn(question, lines), url);
  const execution =
    tool === '--task'
      ? await tasks.resumeTask({ ...MADE_BEFORE, endpointId: url, taskId: taskId(words[0] ?? '') })
      : await tasks.callTool(tool, argumentsFrom(words));
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
