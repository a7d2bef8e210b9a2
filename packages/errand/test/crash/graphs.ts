import { isDeepStrictEqual } from 'node:util';
import { counting, type BeginEntry, type EndEntry } from '../../src/task/journal.ts';
import { isTerminal, type Task } from '../../src/task/task.ts';
import type { Kept, Remains } from './site.ts';
import type { Tally } from './tally.ts';

/** Checks how the tasks of a file stand to those that made them. */
export function checkGraphs(tasks: Remains['tasks'], tally: Tally): void {
  const made = new Map<string, string>();
  for (const { task } of tasks.values()) {
    const { parent } = task;
    if (parent === undefined) continue;
    const wrong = faultOf(task, tasks.get(parent.id)) ?? twin(task, made);
    tally.check('graphs', wrong === undefined, () => `${task.tool} ${task.id}, "${parent.path}": ${wrong}`);
  }
}

function faultOf(task: Task, above: Kept | undefined): string | undefined {
  if (above === undefined) return 'the task above it is not there';
  if (isTerminal(above.task) && !isTerminal(task)) return `it is ${task.status}, and its task ${above.task.status}`;
  const entries = counting(above.journal);
  const begin = entries.find((entry) => entry.type === 'begin' && isOf(entry, task));
  if (begin === undefined) return 'its task did not begin it';
  const end = entries.find((entry): entry is EndEntry => entry.type === 'end' && entry.begin === begin.seq);
  if (end === undefined) return undefined;
  if (!isTerminal(task)) return `it is ${task.status}, and its task was told that it has ended`;
  const result = task.outcome?.kind === 'result' && task.outcome.result.isError !== true && task.outcome.result;
  const isTrue = result
    ? 'value' in end.outcome && isDeepStrictEqual(end.outcome.value, result)
    : !('value' in end.outcome);
  return isTrue
    ? undefined
    : `its task was told ${JSON.stringify(end.outcome)}, and it came to ${JSON.stringify(task.outcome)}`;
}

function isOf({ kind, name, value }: BeginEntry, { id, parent }: Task): boolean {
  return kind === 'subtask' && name === parent!.key && value === id;
}

/** Notes who made a task under which key. */
function twin({ id, parent }: Task, made: Map<string, string>): string | undefined {
  const key = JSON.stringify([parent!.id, parent!.key]);
  const other = made.get(key);
  made.set(key, id);
  return other === undefined ? undefined : `${other} is the same one`;
}
