import { isTerminal, type Task } from '../task/task.ts';
import type { InputRequest } from '../task/input.ts';
import { isOpen, openInputs } from '../task/transitions.ts';
import type { SeenTask } from './engine.ts';

/*
 * What asks below a task, for clients that know of no subtasks: to them a root asks what its
 * descendants ask, under path keys such as `chunk-3/approve`, so that none waits for what it cannot
 * see (S-15). A key that the root itself has open is its own.
 */

/** An answer that a client gave to a root, and the question below that it is meant for. */
export interface AnswerBelow {
  readonly task: Task;
  /** The key that the descendant asked under. */
  readonly key: string;
  /** The key that the client saw. */
  readonly pathKey: string;
  readonly response: unknown;
}

/** Whether descendants of a task may ask what its client is to hear of. */
export function mayAskBelow(task: Task): boolean {
  return task.subtasks !== undefined && task.parent === undefined && !isTerminal(task);
}

/** Whether a client that knows of no subtasks is asked something. */
export function isAsking(task: SeenTask): boolean {
  return task.status === 'input_required' || (task.below !== undefined && task.below.length > 0);
}

/** All questions that such a client is asked. */
export function openQuestions(task: SeenTask): Record<string, InputRequest> {
  const own = openInputs(task);
  if (task.below === undefined || task.below.length === 0) return own;
  const theirs = questionsBelow(task.below).filter(({ pathKey }) => !Object.hasOwn(own, pathKey));
  return Object.fromEntries([
    ...Object.entries(own),
    ...theirs.map(({ pathKey, request }): [string, InputRequest] => [pathKey, request]),
  ]);
}

/** Those answers that are meant for questions below. */
export function answersBelow(task: SeenTask, responses: Readonly<Record<string, unknown>>): AnswerBelow[] {
  return questionsBelow(task.below ?? [])
    .filter(({ pathKey }) => Object.hasOwn(responses, pathKey) && !isOpen(task, pathKey))
    .map(({ task, key, pathKey }) => ({ task, key, pathKey, response: responses[pathKey] }));
}

function questionsBelow(below: readonly Task[]) {
  return below.flatMap((task) =>
    Object.entries(openInputs(task)).map(([key, request]) => ({
      task,
      key,
      pathKey: `${task.parent!.path}/${key}`,
      request,
    })),
  );
}
