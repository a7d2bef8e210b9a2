import { Connection } from '../connection.ts';
import { modernRequest } from '../protocol.ts';
import type { Client, Subject } from '../subject.ts';

/** A bare echo of the request that `tasksGet` sends. */
export const bareEcho: Subject = {
  key: 'a',
  name: 'bare node:http echo',
  server: 'echo',
  connect: async ({ url }) => repeat(url, modernRequest(url, 'tasks/get', { taskId: 'x'.repeat(30) }), '"taskId"'),
};

export const sdkEcho: Subject = {
  key: 'b',
  name: 'SDK 2 tools/call echo',
  server: 'sdk-v2',
  connect: async ({ url }) => {
    const params = { name: 'echo', arguments: { text: 'hello' } };
    return repeat(url, modernRequest(url, 'tools/call', params), '"text":"hello"');
  },
};

/** A client that sends the same bytes over and over, and looks for `expected` in what comes back. */
export function repeat(url: URL, request: string, expected: string): Client {
  const connection = new Connection(url);
  const bytes = Buffer.from(request);
  return {
    async operate() {
      const { body } = await connection.exchange(bytes);
      if (!body.includes(expected)) throw new Error(`unexpected answer: ${body}`);
    },
    close: () => connection.close(),
  };
}
