// The official SDK 1 with its tasks in memory: a session a client, as it wants them, on plain node:http.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { listen } from '../serving.ts';

const taskStore = new InMemoryTaskStore();
const sessions = new Map<string, StreamableHTTPServerTransport>();

/** A server of one session. Its one tool is done before its task is answered: the quickest that there can be. */
function jobServer(): McpServer {
  const tasks = { requests: { tools: { call: {} } } };
  const server = new McpServer({ name: 'bench', version: '1.0.0' }, { capabilities: { tasks }, taskStore });
  server.experimental.tasks.registerToolTask(
    'job',
    { execution: { taskSupport: 'required' } },
    {
      async createTask(extra) {
        const task = await extra.taskStore.createTask({});
        await extra.taskStore.storeTaskResult(task.taskId, 'completed', { content: [{ type: 'text', text: 'done' }] });
        return { task };
      },
      getTask: (extra) => extra.taskStore.getTask(extra.taskId),
      getTaskResult: async (extra) => ({ content: [], ...(await extra.taskStore.getTaskResult(extra.taskId)) }),
    },
  );
  return server;
}

async function openSession(): Promise<StreamableHTTPServerTransport> {
  const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await jobServer().connect(transport);
  return transport;
}

listen(
  createServer((request, response) => {
    const id = request.headers['mcp-session-id'];
    void (async () => {
      const transport = (typeof id === 'string' && sessions.get(id)) || (await openSession());
      await transport.handleRequest(request, response);
    })();
  }),
);
