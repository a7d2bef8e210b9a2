import { isTerminal } from '../task/task.ts';
import { isAsking } from './below.ts';
import type { TaskCommands } from './commands.ts';
import type { Caller, OnTask, SeenTask } from './engine.ts';
import type { Wait } from './waits.ts';

/**
 * A task once it asks or has ended, or as it stands when the wait is over. Rejects where it is not the caller's, and
 * when the caller goes away. `onTask` hears of it meanwhile.
 */
export async function stateAfter(
  wait: Wait,
  commands: TaskCommands,
  taskId: string,
  { principal, signal }: Pick<Caller, 'principal' | 'signal'>,
  onTask?: OnTask,
): Promise<SeenTask> {
  // Whose task it is comes before all else: nobody may hear of another's.
  const task = await commands.read(principal, taskId);
  onTask?.(task);
  if (wait.left === 0 || isTerminal(task) || isAsking(task)) return task;
  const over = new AbortController();
  const stopWait = wait.onceOver(() => over.abort(OVER));
  const stopAbort = onAbort(signal, () => over.abort(signal.reason));
  const stopTelling = onTask && commands.watch(taskId, onTask);
  try {
    return await commands.untilItAsksOrEnds(principal, taskId, over.signal);
  } catch (error) {
    if (error !== OVER) throw error;
    return await commands.read(principal, taskId);
  } finally {
    stopWait();
    stopAbort();
    stopTelling?.();
  }
}

const OVER = Symbol('the wait is over');

/** Calls `action` when the signal aborts, or now if it has. Returns how to stop. */
export function onAbort(signal: AbortSignal, action: () => void): () => void {
  if (signal.aborted) action();
  signal.addEventListener('abort', action, { once: true });
  return () => signal.removeEventListener('abort', action);
}
