import { RpcError } from '../../src/errors.ts';
import type { Errand } from '../../src/errand.ts';
import * as z from 'zod';

const PERSON = z.object({ name: z.string(), confirm: z.boolean() });

/** The tools that the `tasks-*` scenarios call. */
export function addTaskTools(errand: Errand): void {
  // Listed first: the header scenarios call the first tool of the list, with no arguments.
  errand.tool(
    'test_simple_text',
    { description: 'Answers one text', task: 'never' },
    () => 'This is a simple text response for testing.',
  );

  errand.tool(
    'greet',
    { description: 'Greets somebody at once', inputSchema: z.object({ name: z.string() }) },
    ({ name }) => `Hello, ${name}!`,
  );

  errand.tool(
    'slow_compute',
    {
      description: 'Takes as many seconds as it is told',
      inputSchema: z.object({ seconds: z.number().min(0), label: z.string() }),
      task: 'always',
    },
    async ({ seconds, label }, task) => {
      await task.sleep(seconds * 1000);
      return `${label}: computed for ${seconds} s`;
    },
  );

  errand.tool(
    'failing_job',
    {
      description: 'Ends with a tool error; only clients that take tasks may call it',
      task: 'always',
      withoutTasks: 'refuse',
    },
    async (_args, task) => {
      await task.sleep('200ms');
      return { content: [{ type: 'text', text: 'The job found nothing to do' }], isError: true };
    },
  );

  errand.tool(
    'protocol_error_job',
    { description: 'Ends with a JSON-RPC error', task: 'always' },
    async (_args, task) => {
      await task.sleep('200ms');
      throw new RpcError(-32603, 'The job could not be carried out');
    },
  );

  errand.tool(
    'confirm_delete',
    {
      description: 'Deletes a file once somebody agreed',
      inputSchema: z.object({ filename: z.string() }),
      task: 'always',
    },
    async ({ filename }, task) => {
      const answer = await task.elicit('confirm', {
        message: `Delete ${filename}?`,
        schema: z.object({ confirm: z.boolean() }),
      });
      return answer.action === 'accept' && answer.content.confirm ? `Deleted ${filename}` : `Kept ${filename}`;
    },
  );

  errand.tool('multi_input', { description: 'Asks two questions at once', task: 'always' }, async (_args, task) => {
    const [first, second] = await Promise.all([
      task.elicit('first', { message: 'Who is the first?', schema: PERSON }),
      task.elicit('second', { message: 'Who is the second?', schema: PERSON }),
    ]);
    return `${first.content?.name ?? 'nobody'} and ${second.content?.name ?? 'nobody'}`;
  });

  errand.tool(
    'test_tool_with_task',
    {
      description: 'Asks for a name before there is a task',
      task: 'always',
      prepare: async (_args, ask) => {
        const answer = await ask.elicit('name', {
          message: 'What is your name?',
          schema: z.object({ name: z.string() }),
        });
        return answer.content?.name ?? 'nobody';
      },
    },
    async (_args, task) => {
      await task.sleep('200ms');
      return `Hello, ${task.prepared as string}!`;
    },
  );
}
