import type { Store } from '../store.ts';
import type { Task } from '../task/task.ts';

/** A task and what its handlers have made, each after what made it. */
export interface TaskGraph {
  readonly tasks: readonly Task[];
  /** Whether there are more tasks than these. */
  readonly truncated: boolean;
}

/** Reads a task and its descendants, level by level, `limit` tasks at most. */
export async function readGraph(store: Store, root: Task, limit: number): Promise<TaskGraph> {
  const tasks = [root];
  // Grows while it is walked.
  for (const { id, subtasks } of tasks) {
    if (subtasks === undefined) continue;
    const room = limit - tasks.length;
    const made = await store.subtasks(id, room + 1);
    if (made.length > room) return { tasks: [...tasks, ...made.slice(0, room)], truncated: true };
    tasks.push(...made);
  }
  return { tasks, truncated: false };
}
