import type { ControlRequest, ControlResults } from '../dialect.ts';
import type { Control } from '../engine/engine.ts';
import type { JsonObject } from '../json.ts';
import type { Principal } from '../task/principal.ts';

/** Runs a request of our extension on the engine. Resolves with its result on the wire. */
export async function answerControl(
  request: ControlRequest,
  principal: Principal,
  control: Control,
  results: ControlResults,
): Promise<JsonObject> {
  switch (request.act) {
    case 'pause':
      return results.task(await control.pause(principal, request.taskId, request.reason));
    case 'resume':
      return results.task(await control.resume(principal, request.taskId));
    case 'steer':
      return results.task(await control.steer(principal, request.taskId, request.message));
    case 'graph':
      return results.graph(await control.graph(principal, request.taskId));
    case 'events':
      return results.events(await control.events(principal, request.taskId, request.after, request.limit));
    case 'list':
      return results.list(await control.list(principal, request.options));
  }
}
