import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Store } from '../store.ts';
import { isTerminal, type Task } from '../task/task.ts';
import { setAlarm } from './alarm.ts';
import { timingOut } from './ending.ts';

/** How often the store is asked which tasks are over time, in ms. */
const SWEEP_EVERY = 1000;
/** How many tasks are dealt with in one commit. */
const BATCH = 500;

/**
 * Keeps the clocks of all tasks: ends what has not ended by its deadline, and removes what has
 * outlived its retention. Returns how to stop.
 */
export function startSweeper(store: Store, clock: Clock, log: Logger): () => void {
  let sweeping = false;
  let again = false;
  const alarms = new Map<string, () => void>();

  async function sweep(): Promise<void> {
    again = sweeping; // what became due meanwhile may have been missed
    if (sweeping) return;
    sweeping = true;
    try {
      let overdue: string[];
      do {
        overdue = await store.overdue(store.now(), BATCH);
        await Promise.all(overdue.map((id) => endOverdue(store, id)));
      } while (overdue.length === BATCH);
      while ((await store.expire(store.now(), BATCH)) > 0);
    } catch (error) {
      log.error({ err: error }, 'cannot sweep tasks that are over time; trying again');
    } finally {
      sweeping = false;
    }
    if (again) await sweep();
  }

  // A deadline that comes before the next sweep gets a timer of its own.
  const unsubscribe = store.subscribe((task) => {
    if (isTerminal(task)) return disarm(task.id);
    if (alarms.has(task.id) || task.deadlineAt - store.now() > SWEEP_EVERY) return;
    alarms.set(
      task.id,
      setAlarm(
        clock,
        task.deadlineAt,
        () => store.now(),
        () => {
          alarms.delete(task.id);
          return sweep();
        },
      ),
    );
  });

  function disarm(id: string): void {
    alarms.get(id)?.();
    alarms.delete(id);
  }

  const stopSweeps = clock.every(SWEEP_EVERY, sweep);
  void sweep();
  return () => {
    stopSweeps();
    unsubscribe();
    for (const id of [...alarms.keys()]) disarm(id);
  };
}

/** What it has made ends with it, since nothing may outlive the task above it (S-14). */
async function endOverdue(store: Store, id: string): Promise<void> {
  let deadlineAt: number | undefined;
  await store.changeTree(id, (task: Task) => {
    if (task.id === id) deadlineAt = task.deadlineAt <= store.now() ? task.deadlineAt : undefined;
    return deadlineAt === undefined ? undefined : timingOut(task, deadlineAt, store.now());
  });
}
