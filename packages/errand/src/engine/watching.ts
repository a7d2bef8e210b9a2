import type { Clock } from '../clock.ts';
import type { Store } from '../store.ts';
import type { Task } from '../task/task.ts';
import { coalesce } from './coalesce.ts';

/** Hears that a descendant of a watched root changed; without it, that some may have. */
export type DescendantListener = (descendant?: Task) => void;

/**
 * Calls `listener` with later and later states of a task, after they are committed, by this process
 * or another one; some may be left out, never the last. Returns how to stop.
 */
export type Watch = (taskId: string, listener: (task: Task) => void, onDescendant?: DescendantListener) => () => void;

/** Somebody who watches a task. */
interface Watcher {
  readonly listener: (task: Task) => void;
  readonly onDescendant: DescendantListener | undefined;
}

/** A task that somebody watches. */
interface Watched {
  readonly watchers: Set<Watcher>;
  /** The version that was told last. */
  version: number;
}

/** How many tasks are read before the event loop gets a turn. */
const BATCH = 100;

export function createWatch(store: Store, clock: Clock): Watch {
  const tasks = new Map<string, Watched>();
  let stopListening: (() => void) | undefined;

  function tell(task: Task): void {
    if (task.parent !== undefined) tellOfDescendant(task.parent.root, task);
    const watched = tasks.get(task.id);
    // What was read may be told before what was committed before it.
    if (watched === undefined || watched.version >= task.version) return;
    watched.version = task.version;
    for (const { listener } of [...watched.watchers]) listener(task);
  }

  function tellOfDescendant(root: string, descendant?: Task): void {
    const watched = tasks.get(root);
    if (watched === undefined) return;
    for (const { onDescendant } of [...watched.watchers]) onDescendant?.(descendant);
  }

  /** Other processes do not say what they changed. */
  async function readAgain(): Promise<void> {
    const ids = [...tasks.keys()];
    for (let from = 0; from < ids.length; from += BATCH) {
      // Reads of one iteration of the event loop are answered at once.
      const read = await Promise.all(ids.slice(from, from + BATCH).map((id) => store.read(id)));
      for (const task of read) if (task !== undefined) tell(task);
    }
    for (const id of ids) tellOfDescendant(id);
  }

  store.subscribe(tell);
  const onForeignCommit = coalesce(clock, readAgain);

  return (taskId, listener, onDescendant) => {
    const watched = tasks.get(taskId) ?? { watchers: new Set(), version: 0 };
    const watcher: Watcher = { listener, onDescendant };
    watched.watchers.add(watcher);
    tasks.set(taskId, watched);
    stopListening ??= store.onForeignCommit(onForeignCommit);
    return () => {
      watched.watchers.delete(watcher);
      if (watched.watchers.size > 0 || tasks.get(taskId) !== watched) return;
      tasks.delete(taskId);
      if (tasks.size > 0) return;
      stopListening?.();
      stopListening = undefined;
    };
  };
}
