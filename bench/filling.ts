import type { Store, Task } from 'errand';
import { sqlite } from 'errand/sqlite';
import { progressOf } from './progress.ts';

/** A task and what is kept of it beside its record. */
export interface Kept {
  readonly task: Task;
  readonly entries: Awaited<ReturnType<Store['journal']>>;
  readonly events: Awaited<ReturnType<Store['events']>>;
}

/** So many tasks are handed to the store before any is waited for: it has as many ids ready at any time. */
const AT_ONCE = 500;
/** The tasks are made to look as if they had come one after the other within this time, in ms. */
const WITHIN = 60 * 60_000;

/** Fills a new file with copies of a task, each under an id of its own. Gives some of the ids, evenly spread: `most` at most. */
export async function fill(file: string, tasks: number, sample: Kept, most: number): Promise<string[]> {
  const store = sqlite(file);
  await store.open();
  const progress = progressOf('filling a file with tasks', tasks);
  const events = sample.events.map(({ seq: _, at: __, ...event }) => event);
  const every = Math.ceil(tasks / most);
  const ids: string[] = [];
  for (let from = 0; from < tasks; from += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, tasks - from) }, (_, index) => {
      const task = earlier(sample.task, store.newId(), WITHIN * (1 - (from + index) / tasks));
      if ((from + index) % every === 0) ids.push(task.id);
      return store.create(() => ({ task, entries: sample.entries, events }));
    });
    await Promise.all(batch);
    progress.at(from);
  }
  await store.close();
  progress.end();
  return ids;
}

/** A copy of a task as if it had been made `ms` earlier. */
function earlier(task: Task, id: string, ms: number): Task {
  const by = Math.round(ms);
  return {
    ...task,
    id,
    createdAt: task.createdAt - by,
    lastUpdatedAt: task.lastUpdatedAt - by,
    deadlineAt: task.deadlineAt - by,
    expiresAt: task.expiresAt - by,
    events: 0,
  };
}
