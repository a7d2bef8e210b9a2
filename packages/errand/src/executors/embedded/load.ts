import type { Load } from '../../executor.ts';

/** Counts what there is of tasks in memory. */
export function loadOf(
  running: Iterable<{ readonly run?: object; readonly record?: { readonly persisted: boolean } }>,
  queued: number,
): Load {
  let active = 0;
  let tasks = 0;
  for (const { run, record } of running) {
    if (run !== undefined) active += 1;
    if (record?.persisted !== false) tasks += 1;
  }
  return { active, queued, tasks };
}
