import { completable, inputRequired, inputResponse, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';

// One red pixel, and eight samples of silence.
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==';

const IMAGE = { type: 'image', data: PNG, mimeType: 'image/png' } as const;
const AUDIO = { type: 'audio', data: WAV, mimeType: 'audio/wav' } as const;

function embedded(uri: string) {
  return {
    type: 'resource',
    resource: { uri, mimeType: 'text/plain', text: 'This is an embedded resource content.' },
  } as const;
}

/** What somebody had before they met Errand: an SDK server with tools, prompts and resources, none of which is a task. */
export function sdkServer(): McpServer {
  const server = new McpServer(
    { name: 'conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: {},
        completions: {},
        logging: {},
      },
    },
  );
  addTools(server);
  addPrompts(server);
  addResources(server);
  return server;
}

function addTools(server: McpServer): void {
  const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

  server.registerTool('test_image_content', { description: 'Answers an image' }, () => ({ content: [IMAGE] }));
  server.registerTool('test_audio_content', { description: 'Answers a sound' }, () => ({ content: [AUDIO] }));
  server.registerTool('test_embedded_resource', { description: 'Answers a resource' }, () => ({
    content: [embedded('test://embedded-resource')],
  }));
  server.registerTool('test_multiple_content_types', { description: 'Answers three kinds of content' }, () => ({
    content: [{ type: 'text', text: 'Multiple content types test:' }, IMAGE, embedded('test://mixed-content-resource')],
  }));
  server.registerTool('test_error_handling', { description: 'Fails' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });

  server.registerTool('test_tool_with_progress', { description: 'Shows how far it is' }, async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        const params = { progressToken, progress, total: 100, message: `At ${progress} of 100` };
        await ctx.mcpReq.notify({ method: 'notifications/progress', params });
      }
      await delay(50);
    }
    return text('Done');
  });
  // Each revision calls it by another name.
  for (const name of ['test_logging_tool', 'test_tool_with_logging']) {
    server.registerTool(name, { description: 'Logs three lines' }, async (ctx) => {
      for (const line of ['started', 'at work', 'done']) await ctx.mcpReq.log('info', line);
      return text('Logged');
    });
  }

  server.registerTool('test_trigger_tool_change', { description: 'Says that the tools changed' }, () => {
    server.sendToolListChanged();
    return text('Said so');
  });
  server.registerTool('test_trigger_prompt_change', { description: 'Says that the prompts changed' }, () => {
    server.sendPromptListChanged();
    return text('Said so');
  });
}

function addPrompts(server: McpServer): void {
  const user = <C>(content: C) => ({ role: 'user' as const, content });
  const said = (text: string) => user({ type: 'text' as const, text });

  server.registerPrompt('test_simple_prompt', { description: 'Has no arguments' }, () => ({
    messages: [said('This is a simple prompt for testing.')],
  }));

  const word = z.string().describe('Any word');
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'Repeats its arguments',
      argsSchema: z.object({
        arg1: completable(word, (start) => ['test', 'testing', 'tested'].filter((known) => known.startsWith(start))),
        arg2: word,
      }),
    },
    ({ arg1, arg2 }) => ({ messages: [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  );

  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'Carries a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => ({
      messages: [user(embedded(resourceUri)), said('Please process the embedded resource above.')],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'Carries an image' }, () => ({
    messages: [user(IMAGE), said('Please analyze the image above.')],
  }));

  server.registerPrompt('test_input_required_result_prompt', { description: 'Asks before it answers' }, (ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'user_context');
    if (answer.kind !== 'elicit' || answer.action !== 'accept') {
      const ask = { message: 'What is the prompt for?', requestedSchema: z.object({ context: z.string() }) };
      return inputRequired({ inputRequests: { user_context: inputRequired.elicit(ask) } });
    }
    return { messages: [said(`In the context of ${String(answer.content?.['context'])}`)] };
  });
}

function addResources(server: McpServer): void {
  server.registerResource(
    'static-text',
    'test://static-text',
    { description: 'A text that never changes', mimeType: 'text/plain' },
    (uri) => ({
      contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
    }),
  );
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { description: 'An image that never changes', mimeType: 'image/png' },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: 'image/png', blob: PNG }] }),
  );
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'One resource an id', mimeType: 'application/json' },
    (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
}
