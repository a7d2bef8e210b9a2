import {
  McpServer,
  ResourceTemplate,
  acceptedContent,
  completable,
  inputRequired,
  requireScopes,
} from '@modelcontextprotocol/server';
import * as z from 'zod';

/** What a notebook server tells whoever watches it from inside. */
export interface Notebook {
  readonly mcp: McpServer;
  /** How many calls of `wait` are under way, and how many were taken back. */
  readonly waits: { running: number; aborted: number };
}

const text = (value: unknown) => ({
  content: [{ type: 'text' as const, text: typeof value === 'string' ? value : JSON.stringify(value) }],
});

/** An SDK server that uses all that the SDK has and that is not a task. */
export function notebook(): Notebook {
  const waits = { running: 0, aborted: 0 };
  const mcp = new McpServer(
    { name: 'notebook', version: '3.1.4' },
    {
      capabilities: { logging: {}, resources: { subscribe: true } },
      instructions: 'Read the notes first.',
      cacheHints: { 'prompts/list': { ttlMs: 60_000, cacheScope: 'public' } },
    },
  );

  mcp.registerTool('echo', { description: 'Says it again', inputSchema: z.object({ say: z.string() }) }, ({ say }) =>
    text(say),
  );
  mcp.registerTool('fail', { inputSchema: z.object({}) }, () => {
    throw new Error('the pencil broke');
  });
  mcp.registerTool('chatty', { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
    await mcpReq.log('info', 'sharpening');
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken !== undefined)
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } });
    return text('sharp');
  });
  mcp.registerTool('wait', { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
    waits.running += 1;
    await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve));
    waits.aborted += 1;
    return text('too late');
  });
  mcp.registerTool('sign', { inputSchema: z.object({}) }, (_, { mcpReq }) => {
    const signed = acceptedContent<{ name: string }>(mcpReq.inputResponses, 'name');
    if (signed) return text(`signed by ${signed.name}`);
    const requestedSchema = {
      type: 'object' as const,
      properties: { name: { type: 'string' as const } },
      required: ['name'],
    };
    return inputRequired({ inputRequests: { name: inputRequired.elicit({ message: 'Your name?', requestedSchema }) } });
  });
  mcp.registerTool('whoami', { inputSchema: z.object({}) }, (_, { http }) =>
    text({ auth: http?.authInfo ?? null, language: http?.req?.headers.get('Accept-Language') ?? null }),
  );
  const region = z.string().meta({ 'x-mcp-header': 'Region' });
  mcp.registerTool('file', { inputSchema: z.object({ region }) }, (args) => text(`filed in ${args.region}`));
  mcp.registerTool('shred', { inputSchema: z.object({}), scopeChallenge: requireScopes('notes:shred') }, () =>
    text('gone'),
  );

  mcp.registerPrompt(
    'summary',
    {
      description: 'Sums up a day',
      argsSchema: z.object({
        day: completable(z.string(), (start) => ['monday', 'tuesday'].filter((day) => day.startsWith(start))),
      }),
    },
    ({ day }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Sum up ${day}` } }] }),
  );
  mcp.registerResource(
    'today',
    'note://today',
    { mimeType: 'text/plain', cacheHint: { ttlMs: 5000, cacheScope: 'public' } },
    (uri) => ({
      contents: [{ uri: uri.href, text: 'buy pencils' }],
    }),
  );
  mcp.registerResource(
    'any day',
    new ResourceTemplate('note://days/{day}', { list: undefined }),
    {},
    (uri, { day }) => ({
      contents: [{ uri: uri.href, text: `nothing on ${String(day)}` }],
    }),
  );
  mcp.server.setRequestHandler(
    'notes/count',
    { params: z.object({ day: z.string() }), result: z.object({ count: z.number() }) },
    ({ day }) => ({
      count: day.length,
    }),
  );
  return { mcp, waits };
}
