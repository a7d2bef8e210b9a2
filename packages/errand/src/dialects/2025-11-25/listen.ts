import type { SessionDialect, Terms } from '../../dialect.ts';
import { kindOf } from '../../task/input.ts';
import { plainTask, relatedTo, statusOf } from './encode.ts';
import type { JsonObject } from '../../json.ts';
import type { Task } from '../../task/task.ts';

/** The part of a session's dialect that makes what a client did not ask for. */
export type Unasked = Pick<SessionDialect, 'progress' | 'status' | 'news' | 'mark' | 'question'>;

/** `mark` says to which task a message belongs. */
export function createUnasked({ hosts }: Pick<Terms, 'hosts'>, mark: SessionDialect['mark'] = markRelated): Unasked {
  return {
    progress: (progressToken, { progress, total, message }, task) => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: mark(
        {
          progressToken,
          progress,
          ...(total !== undefined && { total }),
          ...(message !== undefined && { message }),
        },
        task,
      ),
    }),
    // It says by itself which task it is about, so it is not marked (L-37, L-38).
    status: (task) => ({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: plainTask(task) }),
    news: statusOf,
    mark,
    question(request, id, task) {
      const kind = kindOf(request);
      const hosted = kind !== 'roots' && hosts[kind];
      return mark(
        {
          ...request.params,
          // By this the client is told that what it opened a page for is done; every such question has one.
          ...(request.params.mode === 'url' && { elicitationId: id }),
          // Only what the client declared may be a task of its own (L-4, L-53).
          ...(hosted && { task: {} }),
        },
        task,
      );
    },
  };
}

/** Params that say to which task a message belongs (L-29, L-35). */
function markRelated(params: JsonObject, task?: Task): JsonObject {
  if (task === undefined) return params;
  return {
    ...params,
    _meta: { ...(params._meta as JsonObject | undefined), ...(relatedTo(task)._meta as JsonObject) },
  };
}
