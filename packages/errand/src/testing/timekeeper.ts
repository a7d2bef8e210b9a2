import { isTerminal, type Task } from '../task/task.ts';
import type { Life } from './life.ts';
import type { VirtualClock } from './virtual-clock.ts';

/**
 * Makes a virtual clock stop at each time that a task waits for, and the server look there for what
 * is due. A server looks every second, which over a month would be all that a test does.
 */
export async function keepTime({ store, look }: Life, clock: VirtualClock): Promise<void> {
  const stops = new Set<number>();

  function stopAt(time: number | undefined): void {
    if (time === undefined || time <= clock.now() || stops.has(time)) return;
    stops.add(time);
    clock.after(time - clock.now(), () => {
      stops.delete(time);
      return look();
    });
  }

  function follow(task: Task): void {
    if (isTerminal(task)) return stopAt(task.expiresAt);
    stopAt(task.wakeAt);
    stopAt(task.deadlineAt);
  }

  store.subscribe(follow);
  // What was there before; each live task has a deadline.
  for (const id of await store.overdue(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)) {
    const task = await store.read(id);
    if (task !== undefined) follow(task);
  }
}
