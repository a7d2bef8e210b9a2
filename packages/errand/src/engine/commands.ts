import { taskNotFound } from '../errors.ts';
import type { Limits } from '../limits.ts';
import type { Store } from '../store.ts';
import type { InputResponse } from '../task/input.ts';
import { principalKey, type Principal } from '../task/principal.ts';
import { isTerminal, type Task } from '../task/task.ts';
import { answer, isOpen } from '../task/transitions.ts';
import { checkAnswer } from './answers.ts';
import { cancelling } from './ending.ts';
import type { Engine } from './engine.ts';
import type { Watch } from './watching.ts';

/** The commands on tasks that are there. */
export interface TaskCommands extends Pick<Engine, 'read' | 'answer' | 'cancel' | 'watch'> {
  /** Resolves once the task has a question open or has ended; rejects when `signal` aborts. */
  untilItAsksOrEnds(principal: Principal, taskId: string, signal: AbortSignal): Promise<Task>;
}

export function createTaskCommands(store: Store, watchAll: Watch, limits: Limits): TaskCommands {
  async function read(principal: Principal, taskId: string): Promise<Task> {
    const owner = principalKey(principal);
    const task = await store.read(taskId, owner);
    // The store looks at the owner to be quick. That strangers get nothing does not depend on it.
    if (task === undefined || task.principal !== owner || task.expiresAt <= store.now()) throw taskNotFound();
    return task;
  }

  function watch(taskId: string, listener: (task: Task) => void): () => void {
    let seen: string | undefined;
    return watchAll(taskId, (task) => {
      // A commit may change what only a run sees.
      const visible = visiblePart(task);
      if (visible === seen) return;
      seen = visible;
      listener(task);
    });
  }

  return {
    read,
    watch,

    async answer(principal, taskId, responses) {
      await read(principal, taskId);
      const task = await store.change(taskId, (current) => {
        const next = answer(current, checked(current, responses, limits), store.now());
        return next === current ? undefined : { task: next };
      });
      if (task === undefined) throw taskNotFound();
      return task;
    },

    async cancel(principal, taskId) {
      await read(principal, taskId);
      const task = await store.changeTree(taskId, (current) => cancelling(current, store.now()));
      if (task === undefined) throw taskNotFound();
      return task;
    },

    untilItAsksOrEnds(principal, taskId, signal) {
      return new Promise((resolve, reject) => {
        const settle = (task: Task): void => {
          if (!isTerminal(task) && task.status !== 'input_required') return;
          stop();
          resolve(task);
        };
        const giveUp = (): void => {
          stop();
          reject(signal.reason as Error);
        };
        const unwatch = watch(taskId, settle);
        const stop = (): void => {
          unwatch();
          signal.removeEventListener('abort', giveUp);
        };
        signal.addEventListener('abort', giveUp, { once: true });
        if (signal.aborted) return giveUp();
        read(principal, taskId).then(settle, (error: Error) => {
          stop();
          reject(error);
        });
      });
    },
  };
}

/** The answers to open keys; one that does not fit its question refuses them all (nothing half-done). */
function checked(
  task: Task,
  responses: Readonly<Record<string, unknown>>,
  limits: Limits,
): Record<string, InputResponse> {
  const open = Object.entries(responses).filter(([key]) => isOpen(task, key));
  return Object.fromEntries(
    open.map(([key, response]) => [key, checkAnswer(key, task.inputs[key]!.request, response, limits)]),
  );
}

/** What a client could see of a task, as a text to compare; questions and outcomes do not change once they are there. */
function visiblePart({ status, statusMessage, progress, inputs, lastUpdatedAt }: Task): string {
  const states = Object.entries(inputs).map(([key, input]) => [key, input.state]);
  return JSON.stringify([status, statusMessage, progress, states, lastUpdatedAt]);
}
