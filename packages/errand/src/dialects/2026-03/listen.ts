import type { Terms } from '../../dialect.ts';
import type { JsonObject } from '../../json.ts';
import type { Task } from '../../task/task.ts';
import { createUnasked as createOlder, type Unasked } from '../2025-11-25/listen.ts';
import { detailedTask, plainTask, related } from './encode.ts';

/** The part of a session's dialect that makes what a client did not ask for. */
export function createUnasked(terms: Terms): Unasked {
  const mark = (params: JsonObject, task?: Task): JsonObject =>
    task === undefined
      ? params
      : { ...params, _meta: { ...(params._meta as JsonObject | undefined), ...related(task, terms) } };
  const older = createOlder({ ...terms, hosts: {} }, mark);
  return {
    ...older,
    // With what it came to (K-17), and whenever anything of it has changed (P-6).
    status: (task) => ({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: detailedTask(task, terms) }),
    news: (task) => JSON.stringify(plainTask(task, terms)),
  };
}
