import { setTimeout as delay } from 'node:timers/promises';
import type { SessionDialect } from '../../dialect.ts';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import type { JsonRpcResponse } from '../../jsonrpc.ts';
import type { Asking } from './asking.ts';
import type { Outlet } from './streams.ts';

/** How often a task of a client is looked at where it does not say, in ms; and the least and most of what it may say. */
const POLL_MS = 1000;
const SHORTEST_POLL_MS = 100;
const LONGEST_POLL_MS = 60_000;

const ENDED = new Set<unknown>(['completed', 'failed', 'cancelled']);

/** Passes on the response to a question; where that is a task of the client, what the task came to. */
export type Settle = (response: JsonRpcResponse, take: (settled: JsonRpcResponse) => Promise<void>) => Promise<void>;

/** Follows the tasks by which a client answers (L-53), until they have ended. */
export function createHosting(
  asking: Asking,
  follows: SessionDialect['follows'],
  outlet: () => Outlet | undefined,
): Settle {
  function request(method: string, params: JsonObject): Promise<JsonRpcResponse> {
    return new Promise((resolve) => {
      asking.ask({
        method,
        params: () => params,
        takenBack: (none) => none,
        outlet,
        take: async (response) => resolve(response),
      });
    });
  }

  async function follow(taskId: string, pollInterval: unknown): Promise<JsonRpcResponse> {
    for (let wait = pollInterval; ;) {
      await delay(intervalOf(wait), undefined, { ref: false });
      const response = await request(`tasks/${follows}`, { taskId });
      if ('error' in response) return response;
      const { status, pollInterval, result } = response.result;
      if (ENDED.has(status)) return follows === 'get' ? request('tasks/result', { taskId }) : inlined(response, result);
      wait = pollInterval;
    }
  }

  return async (response, take) => {
    const task = 'result' in response ? response.result.task : undefined;
    if (!isObject(task) || typeof task.taskId !== 'string') return take(response);
    // The response was one; what becomes of the task is another matter, which takes its time.
    void follow(task.taskId, task.pollInterval)
      .then(take)
      .catch(() => undefined);
  };
}

/** What a task came to that says so itself (K-2, K-3). */
function inlined({ jsonrpc, id }: JsonRpcResponse, result: unknown): JsonRpcResponse {
  if (isObject(result)) return { jsonrpc, id: id!, result: result as JsonObject };
  return { jsonrpc, id: id!, error: { code: -32603, message: 'the task of the client came to nothing' } };
}

function intervalOf(pollInterval: unknown): number {
  return typeof pollInterval === 'number'
    ? Math.min(LONGEST_POLL_MS, Math.max(SHORTEST_POLL_MS, pollInterval))
    : POLL_MS;
}
