import type { JsonObject } from '../../src/json.ts';
import { frame, headersOf, messagesOf, TASK_CLIENT, TASKS } from '../fixtures/frames.ts';

/** A client that takes tasks, is asked what subtasks ask, and steers. */
const CLIENT: JsonObject = { ...TASK_CLIENT, extensions: { [TASKS]: {}, 'dev.errand/tasks': {} } };

/** What came back for a request. */
export interface Answer {
  readonly result?: JsonObject;
  readonly error?: JsonObject;
}

/** Sends one request. Rejects where no whole answer comes back. */
export async function send(url: string, method: string, params: JsonObject): Promise<Answer> {
  const request = frame(1, method, params, method.startsWith('errand/') ? CLIENT : TASK_CLIENT);
  const response = await fetch(url, { method: 'POST', headers: headersOf(request), body: JSON.stringify(request) });
  for await (const message of messagesOf(response)) {
    if ('result' in message) return { result: message.result };
    if ('error' in message) return { error: message.error as unknown as JsonObject };
  }
  throw new Error(`${method} was answered with HTTP ${response.status} and nothing else`);
}
