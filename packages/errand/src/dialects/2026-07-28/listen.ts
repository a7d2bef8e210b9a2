import type { ListenFrames, Served } from '../../dialect.ts';
import type { JsonObject } from '../../json.ts';
import type { JsonRpcNotification, RequestId } from '../../jsonrpc.ts';
import { detailedTask, serverStamp } from './encode.ts';
import { META } from './envelope.ts';

/** The frames of `subscriptions/listen`: each carries the id of the subscription, a string or a number as the client wrote it. */
export function createListenFrames({ info }: Served): ListenFrames {
  const stamp = serverStamp(info);
  const notification = (id: RequestId, method: string, params: JsonObject): JsonRpcNotification => ({
    jsonrpc: '2.0',
    method,
    params: { ...params, _meta: { ...(params._meta as JsonObject | undefined), [META.subscriptionId]: id } },
  });
  return {
    acknowledged: (id, taskIds, changes) =>
      notification(id, 'notifications/subscriptions/acknowledged', {
        notifications: { ...changes, ...(taskIds.length === 0 ? {} : { taskIds: [...taskIds] }) },
      }),
    task: (id, task, extended) => notification(id, 'notifications/tasks', detailedTask(task, extended)),
    change: (id, { method, params = {} }) => notification(id, method, params),
    closed: (id) => ({ resultType: 'complete', _meta: { [META.subscriptionId]: id, ...stamp } }),
  };
}
