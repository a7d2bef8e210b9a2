import { taskNotFound } from '../errors.ts';
import type { Store } from '../store.ts';
import type { TaskEvent } from '../task/event.ts';
import { isTerminal, type Task } from '../task/task.ts';
import type { Watch } from './watching.ts';

/** So many events are read at once. */
const PAGE = 100;

/** Some of a task's log. */
export interface EventPage {
  readonly events: readonly TaskEvent[];
  /** The number that the next page comes after. */
  readonly next: number;
  /** Whether the task has ended, and this is the last of its log. */
  readonly ended: boolean;
}

/** Where to begin in a task's log, and for how long to follow it. */
export interface EventOptions {
  /** The number of the last event that is known already. Default: none is, so the first one is the creation, number 0. */
  readonly after?: number;
  /** Ends the iteration with its reason. */
  readonly signal?: AbortSignal;
}

/** The log of a task above the number `after`, at most `limit` lines; its creation and its end are in its record. */
export async function readEvents(store: Store, task: Task, after: number, limit: number): Promise<EventPage> {
  const { id, tool, createdAt, status } = task;
  const events: TaskEvent[] = after < 0 ? [{ seq: 0, at: createdAt, kind: 'created', tool }] : [];
  if (events.length < limit) events.push(...(await store.events(id, Math.max(after, 0), limit - events.length)));
  // What has ended gains no events.
  const last = task.events + 1;
  const ended = isTerminal(task) && events.length < limit;
  if (ended && after < last) events.push({ seq: last, at: task.lastUpdatedAt, kind: 'ended', status });
  return { events, next: events.at(-1)?.seq ?? after, ended };
}

/**
 * All that happened to a task, and then what happens, until it has ended. Rejects with `taskNotFound` where there
 * is no such task, and with the reason of the signal when that aborts.
 */
export async function* followEvents(
  store: Store,
  watch: Watch,
  taskId: string,
  { after = -1, signal }: EventOptions,
): AsyncGenerator<TaskEvent, void, undefined> {
  let stale: boolean;
  let wake = (): void => undefined;
  const stir = (): void => {
    stale = true;
    wake();
  };
  // Watched before it is read, so that nothing falls in between.
  const unwatch = watch(taskId, stir);
  signal?.addEventListener('abort', stir, { once: true });
  try {
    for (let known = after; ;) {
      signal?.throwIfAborted();
      stale = false;
      const task = await store.read(taskId);
      if (task === undefined) throw taskNotFound();
      const page = await readEvents(store, task, known, PAGE);
      for (const event of page.events) {
        signal?.throwIfAborted();
        yield event;
      }
      if (page.ended) return;
      known = page.next;
      if (page.events.length > 0) continue;
      if (!stale) await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    unwatch();
    signal?.removeEventListener('abort', stir);
  }
}
