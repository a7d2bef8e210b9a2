import { isTerminal, type Task } from '../task/task.ts';
import type { InputRequest } from '../task/input.ts';
import { isOpen, openInputs } from '../task/transitions.ts';
import type { SeenTask } from './engine.ts';

/*
 * What asks below a task, for clients that know of no subtasks: to them a root asks what its
 * descendants ask, under path keys such as `chunk-3/approve`, so that none waits for what it cannot
 * see (S-15). Paths are told apart: the last `/` of a path key ends the path of the subtask, whose keys have none, and
 * what follows is the key of the question, with `~1` for `/` and `~0` for `~`. A key of the root itself stands as it is;
 * one that could be a path is refused where the root comes to have both.
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

/** Keeps the keys of a root's own questions, and the paths of those below it, apart. */
export interface PathGuard {
  /** Throws where a key that the root asks under begins with a subtask of it and `/`. */
  asks(key: string): void;
  /** Throws where the root has asked under a key that begins with this subtask and `/`. */
  begins(subtask: string): void;
}

/** The guard of one run. What it refuses depends on the order of the handler's calls alone, so replays agree. */
export function createPathGuard(): PathGuard {
  const begun = new Set<string>();
  /** Keys with `/`, by what stands before it. */
  const asked = new Map<string, string>();
  return {
    asks(key) {
      const end = key.indexOf('/');
      if (end === -1) return;
      const first = key.slice(0, end);
      if (begun.has(first)) throw mistakable(key, first);
      asked.set(first, key);
    },
    begins(subtask) {
      const key = asked.get(subtask);
      if (key !== undefined) throw mistakable(key, subtask);
      begun.add(subtask);
    },
  };
}

function mistakable(key: string, subtask: string): TypeError {
  return new TypeError(
    `the input key "${key}" reads like a question of subtask "${subtask}"; give the question or the subtask another key`,
  );
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
      pathKey: `${task.parent!.path}/${escaped(key)}`,
      request,
    })),
  );
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
