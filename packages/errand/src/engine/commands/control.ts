import { ErrandError } from '../../errors.ts';
import type { Store } from '../../store.ts';
import type { Control, Engine } from '../engine.ts';
import { readEvents } from '../events.ts';
import { readGraph } from '../graph.ts';
import type { Operator } from './operator.ts';

/** So many tasks of a graph are read at once. */
const LARGEST_GRAPH = 1000;

/** Control over the tasks that `read` gives a principal. */
export function createControl(store: Store, operator: Operator, read: Engine['read']): Control {
  return {
    async pause(principal, taskId, reason) {
      await read(principal, taskId);
      await operator.pause(taskId, reason);
      return read(principal, taskId, true);
    },
    async resume(principal, taskId) {
      await read(principal, taskId);
      await operator.resume(taskId);
      return read(principal, taskId, true);
    },
    async steer(principal, taskId, message) {
      await read(principal, taskId);
      if (!(await operator.steer(taskId, message)))
        throw new ErrandError('invalidParams', 'Invalid params: the task has ended, and nobody reads what it is told');
      return read(principal, taskId, true);
    },
    graph: async (principal, taskId) => readGraph(store, await read(principal, taskId), LARGEST_GRAPH),
    events: async (principal, taskId, after, limit) => readEvents(store, await read(principal, taskId), after, limit),
    async list(principal, options) {
      if (principal.kind === 'anonymous')
        throw new ErrandError(
          'anonymous',
          'anonymous callers know their tasks by the ids alone, and have no list of them',
        );
      return operator.list(principal, options);
    },
  };
}
