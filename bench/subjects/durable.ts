import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from '../connection.ts';
import { modernRequest, resultOf } from '../protocol.ts';
import type { Result } from '../protocol.ts';
import type { Client, Subject } from '../subject.ts';
import { repeat } from './echoes.ts';

/** A task of ours, from its making to its result, on disk at each acknowledgement. */
export const durableCycle: Subject = {
  key: 'd',
  name: 'Errand durable cycle',
  server: 'errand',
  async connect({ url }) {
    const connection = new Connection(url);
    return {
      operate: async () => void (await finish(connection, url)),
      close: () => connection.close(),
    };
  },
};

/** Reading a task that has ended, always the same. */
export const tasksGet: Subject = {
  key: 'e',
  name: 'Errand tasks/get',
  server: 'errand',
  async connect({ url }) {
    const connection = new Connection(url);
    const taskId = await finish(connection, url);
    connection.close();
    return repeat(url, modernRequest(url, 'tasks/get', { taskId }), '"status":"completed"');
  },
};

/** How long a client of `completion` does nothing between two tasks, in ms: about a hundred end in a second. */
const PAUSE_MS = { least: 200, most: 400 };

/**
 * From sending the answer that ends a task to hearing, on an open subscription, that it ended: on
 * the way are the answer's commit, the handler's going on, the commit of its result, and the stream.
 */
export const completion: Subject = {
  key: 'f',
  name: 'Errand completion to subscriber',
  server: 'errand',
  async connect({ url }) {
    const approval = approvals(url);
    return {
      ...approval,
      async operate() {
        // At random, or the clients fall into step and wait for each other.
        await pause(PAUSE_MS.least + Math.random() * (PAUSE_MS.most - PAUSE_MS.least));
        return approval.operate();
      },
    };
  },
};

/** The same where each client begins the next task at once: what is timed is mostly the queue that they make. */
export const completionFlatOut: Subject = {
  key: 'g',
  name: 'the same, flat out',
  server: 'errand',
  connect: async ({ url }) => approvals(url),
};

/** A client that has a task made which asks, subscribes to it, answers, and times what comes of the answer. */
function approvals(url: URL): Client {
  const connection = new Connection(url);
  const stream = new Connection(url);
  return {
    async operate() {
      const taskId = await create(connection, url, 'approval');
      const heard = new Map<string, () => void>();
      const hear = (status: string) => new Promise<void>((resolve) => heard.set(`"status":"${status}"`, resolve));
      const [asked, ended] = [hear('input_required'), hear('completed')];
      const listening = stream.exchange(
        modernRequest(url, 'subscriptions/listen', { notifications: { taskIds: [taskId] } }),
        (soFar) => {
          for (const [status, resolve] of heard) if (soFar.includes(status)) resolve();
        },
      );
      // Whatever ends the stream too early fails the operation.
      await Promise.race([asked, listening.then(tooEarly)]);
      const inputResponses = { go: { action: 'accept', content: { go: true } } };
      const update = modernRequest(url, 'tasks/update', { taskId, inputResponses });
      const sent = performance.now();
      let took = Number.NaN;
      // A refused answer fails the operation at once: the task would wait for ever.
      await Promise.all([
        connection.exchange(update).then(resultOf),
        ended.then(() => (took = performance.now() - sent)),
      ]);
      const { body } = await listening;
      if (!body.includes('"text":"done"')) throw new Error(`unexpected stream: ${body}`);
      return took;
    },
    close() {
      connection.close();
      stream.close();
    },
  };
}

function tooEarly(): never {
  throw new Error('the subscription ended before the task asked');
}

async function create(connection: Connection, url: URL, name: string): Promise<string> {
  const call = modernRequest(url, 'tools/call', { name, arguments: {} });
  return resultOf(await connection.exchange(call))['taskId'] as string;
}

/** Has a task made, and reads it until it is completed. Gives its id. */
async function finish(connection: Connection, url: URL): Promise<string> {
  const taskId = await create(connection, url, 'job');
  for (;;) {
    const { status, result } = resultOf(await connection.exchange(modernRequest(url, 'tasks/get', { taskId })));
    if (status === 'completed') {
      if ((result as Result)['isError'] === true) throw new Error(`the task failed: ${JSON.stringify(result)}`);
      return taskId;
    }
  }
}
