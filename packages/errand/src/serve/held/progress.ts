import type { Dialect, ProgressReport, ProgressToken } from '../../dialect.ts';
import type { OnTask } from '../../engine/engine.ts';
import type { JsonRpcNotification } from '../../jsonrpc.ts';
import type { Task } from '../../task/task.ts';

/** How far a held call is, for a client that wants to hear of it. A slow one gets the latest, not all of it. */
export interface HeldProgress {
  readonly hear: OnTask;
  /** The next notification, if there is something new to say. */
  next(): JsonRpcNotification | undefined;
  /** Calls `listener` when there is. */
  onNews(listener: () => void): void;
}

export function heldProgress(token: ProgressToken, frame: Dialect['progress']): HeldProgress {
  let told: Pick<Task, 'progress' | 'statusMessage'> = {};
  let latest = told;
  let last: number | undefined;
  let tell = (): void => undefined;

  return {
    hear(task) {
      latest = task;
      tell();
    },
    onNews: (listener) => void (tell = listener),
    next() {
      const { progress, statusMessage } = latest;
      if (
        told.progress?.done === progress?.done &&
        told.progress?.total === progress?.total &&
        told.statusMessage === statusMessage
      )
        return undefined;
      told = latest;
      const report = reportOf(told, last);
      last = report.progress;
      return frame(token, report);
    },
  };
}

/**
 * Each number must be greater than the one before, also where only the message changed: then by so little that nobody
 * takes it for work that was done.
 */
function reportOf(
  { progress, statusMessage }: Pick<Task, 'progress' | 'statusMessage'>,
  last?: number,
): ProgressReport {
  const done = progress?.done ?? 0;
  const number = last === undefined || done > last ? done : last + Math.max(1e-6, Math.abs(last) * 1e-12);
  const total = progress?.total;
  return {
    progress: number,
    // More than all of it would be nonsense.
    ...(total !== undefined && number <= total && { total }),
    ...(statusMessage !== undefined && { message: statusMessage }),
  };
}
