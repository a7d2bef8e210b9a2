// The official SDK 2, hosted as its documentation has it: no tasks, no store, one tool that answers at once.
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { listen } from '../serving.ts';

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }));
  return server;
});
listen(createServer(toNodeHandler(handler) as RequestListener));
