import { isDeepStrictEqual } from 'node:util';
import type { Store } from '../../src/store.ts';
import { isTerminal, type Task } from '../../src/task/task.ts';

/** Looks at all tasks of a store after each commit. */
export interface Witness {
  /** What must never be so, and was. */
  readonly wrong: readonly string[];
  /** Tasks that wait for an answer. */
  readonly asking: Iterable<Task>;
  stop(): void;
}

export function witness(store: Store): Witness {
  const tasks = new Map<string, Task>();
  const children = new Map<string, Set<string>>();
  const asking = new Map<string, Task>();
  const changed = new Set<string>();
  const wrong: string[] = [];

  /** A commit tells of all of its tasks at once: only then it shows how they stand to each other. */
  function look(): void {
    for (const id of changed) {
      const task = tasks.get(id)!;
      const parent = task.parent && tasks.get(task.parent.id);
      if (parent !== undefined) checkPair(parent, task);
      for (const child of children.get(id) ?? []) checkPair(task, tasks.get(child)!);
    }
    changed.clear();
  }

  function checkPair(parent: Task, child: Task): void {
    if (isTerminal(child) || !isTerminal(parent)) return;
    wrong.push(`${nameOf(parent)} is ${parent.status} while ${nameOf(child)} is ${child.status}`);
  }

  const stop = store.subscribe((task) => {
    const before = tasks.get(task.id);
    if (before !== undefined && !isDeepStrictEqual(before, task)) {
      if (isTerminal(before)) wrong.push(`${nameOf(before)} had ended as ${before.status}, and is otherwise now`);
      if (before.version >= task.version) wrong.push(`${nameOf(before)} changed, and is no version on`);
    }
    tasks.set(task.id, task);
    if (before === undefined && task.parent !== undefined) {
      const { id } = task.parent;
      children.set(id, (children.get(id) ?? new Set()).add(task.id));
    }
    if (task.status === 'input_required') asking.set(task.id, task);
    else asking.delete(task.id);
    if (changed.size === 0) queueMicrotask(look);
    changed.add(task.id);
  });
  return { wrong, asking: { [Symbol.iterator]: () => [...asking.values()].values() }, stop };
}

function nameOf({ parent }: Task): string {
  return parent === undefined ? 'the root' : parent.key;
}
