import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Store } from '../store.ts';
import { isTerminal, type Progress, type Task } from '../task/task.ts';
import { rollUp } from '../task/transitions.ts';
import { coalesce } from './coalesce.ts';

/** How long changes are gathered before they are shown, in ms: five times a second is enough. */
const APART = 200;

/**
 * Shows on a task how far its subtasks are, on its parent how far it is, and so on up to the root. It follows the
 * commits, whether or not a run of the parent is in memory. Returns how to stop.
 */
export function startRollUp(store: Store, clock: Clock, log: Logger): () => void {
  /** How far subtasks are that have begun and not ended. */
  const known = new Map<string, number>();
  const stale = new Set<string>();
  let stopTimer: (() => void) | undefined;

  async function refresh(): Promise<void> {
    const ids = [...stale];
    stale.clear();
    for (const id of ids) {
      const below = await store.progressBelow(id);
      if (below !== undefined) await store.change(id, (task) => changed(task, rollUp(task, below, store.now())));
    }
  }

  // It takes a tenth of the loop at most, however many subtasks there are.
  const refreshSoon = coalesce(clock, () =>
    refresh().catch((error: unknown) => log.error({ err: error }, 'cannot show how far subtasks are')),
  );

  const unsubscribe = store.subscribe((task) => {
    if (task.parent === undefined) return;
    const far = fractionOf(task);
    const isNew = task.version === 1;
    if (!isNew && (known.get(task.id) ?? 0) === far) return;
    if (far > 0 && !isTerminal(task)) known.set(task.id, far);
    else known.delete(task.id);
    stale.add(task.parent.id);
    stopTimer ??= clock.after(APART, () => {
      stopTimer = undefined;
      refreshSoon();
    });
  });
  return () => {
    unsubscribe();
    stopTimer?.();
  };
}

/** How far a task is, from 0 to 1; 2 where it is over. */
function fractionOf({ status, progress }: Pick<Task, 'status'> & { readonly progress?: Progress }): number {
  if (isTerminal({ status })) return 2;
  return progress?.total ? progress.done / progress.total : 0;
}

function changed(before: Task, after: Task): { task: Task } | undefined {
  return after === before ? undefined : { task: after };
}
