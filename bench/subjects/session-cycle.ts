import { Connection } from '../connection.ts';
import { resultOf, sessionEnd, sessionNotification, sessionRequest } from '../protocol.ts';
import type { Result } from '../protocol.ts';
import type { Subject } from '../subject.ts';

/** A task of SDK 1, from its making to its result, within a session that stays. */
export const sessionCycle: Subject = {
  key: 'c',
  name: 'SDK 1 in-memory cycle',
  server: 'sdk-v1',
  async connect({ url }) {
    const connection = new Connection(url);
    const session = await open(connection, url);
    const ask = async (method: string, params: Result) =>
      resultOf(await connection.exchange(sessionRequest(url, session, method, params)));
    return {
      async operate() {
        const { task } = (await ask('tools/call', { name: 'job', arguments: {}, task: {} })) as {
          task: { taskId: string };
        };
        const { taskId } = task;
        const { status } = await ask('tasks/get', { taskId });
        if (status !== 'completed') throw new Error(`the task is ${String(status)}`);
        const { content } = await ask('tasks/result', { taskId });
        if (!Array.isArray(content) || content.length !== 1) throw new Error('the task has no result');
      },
      async close() {
        await connection.exchange(sessionEnd(url, session));
        connection.close();
      },
    };
  },
};

async function open(connection: Connection, url: URL): Promise<string> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  };
  const answer = await connection.exchange(sessionRequest(url, undefined, 'initialize', params));
  const session = /\r\nmcp-session-id: (\S+)/i.exec(answer.head)?.[1];
  if (session === undefined) throw new Error(`no session: ${answer.head}`);
  await connection.exchange(sessionNotification(url, session, 'notifications/initialized'));
  return session;
}
