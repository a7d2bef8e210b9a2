import type { Clock } from '../clock.ts';
import { isTerminal } from '../task/task.ts';
import { isAsking } from './below.ts';
import type { TaskCommands } from './commands.ts';
import type { Caller, OnTask, SeenTask } from './engine.ts';

/**
 * A task once it asks or has ended, or as it stands after `ms`. Rejects where it is not the caller's, and when the
 * caller goes away. `onTask` hears of it meanwhile.
 */
export async function stateWithin(
  commands: TaskCommands,
  clock: Clock,
  taskId: string,
  ms: number,
  { principal, signal }: Pick<Caller, 'principal' | 'signal'>,
  onTask?: OnTask,
): Promise<SeenTask> {
  // Whose task it is comes before all else: nobody may hear of another's.
  const task = await commands.read(principal, taskId);
  onTask?.(task);
  if (ms <= 0 || isTerminal(task) || isAsking(task)) return task;
  const over = new AbortController();
  const stopTime = ms === Infinity ? undefined : clock.after(ms, () => over.abort(TIME_IS_UP));
  const stopAbort = onAbort(signal, () => over.abort(signal.reason));
  const stopTelling = onTask && commands.watch(taskId, onTask);
  try {
    return await commands.untilItAsksOrEnds(principal, taskId, over.signal);
  } catch (error) {
    if (error !== TIME_IS_UP) throw error;
    return await commands.read(principal, taskId);
  } finally {
    stopTime?.();
    stopAbort();
    stopTelling?.();
  }
}

const TIME_IS_UP = Symbol('time is up');

/** Calls `action` when the signal aborts, or now if it has. Returns how to stop. */
export function onAbort(signal: AbortSignal, action: () => void): () => void {
  if (signal.aborted) action();
  signal.addEventListener('abort', action, { once: true });
  return () => signal.removeEventListener('abort', action);
}
