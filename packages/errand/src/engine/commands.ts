import { taskNotFound } from '../errors.ts';
import type { Limits } from '../limits.ts';
import type { Change, Store } from '../store.ts';
import type { InputResponse } from '../task/input.ts';
import { principalKey, type Principal } from '../task/principal.ts';
import { isTerminal, type Task, type TaskStatus } from '../task/task.ts';
import { isOpen } from '../task/transitions.ts';
import { checkAnswer } from './answers.ts';
import { answersBelow, isAsking } from './below.ts';
import { answering, declining } from './control.ts';
import { cancelling } from './ending.ts';
import type { Engine, SeenTask } from './engine.ts';
import type { Sight } from './sight.ts';

/** So many live tasks of a principal are looked at for those of one session. */
const LOOKED_AT = 1000;

/** The commands on tasks that are there. */
export interface TaskCommands extends Pick<Engine, 'read' | 'answer' | 'decline' | 'bornIn' | 'cancel' | 'watch'> {
  /** Resolves once the task, or one below it, has a question open, or it has ended; rejects when `signal` aborts. */
  untilItAsksOrEnds(principal: Principal, taskId: string, signal: AbortSignal): Promise<SeenTask>;
}

export function createTaskCommands(store: Store, sight: Sight, limits: Limits): TaskCommands {
  async function read(principal: Principal, taskId: string, knowsSubtasks = false): Promise<SeenTask> {
    const owner = principalKey(principal);
    const task = await store.read(taskId, owner);
    // The store looks at the owner to be quick. That strangers get nothing does not depend on it.
    if (task === undefined || task.principal !== owner || task.expiresAt <= store.now()) throw taskNotFound();
    return sight.of(task, knowsSubtasks);
  }

  async function change(taskId: string, decide: (task: Task) => Change | undefined): Promise<Task> {
    const task = await store.change(taskId, decide);
    if (task === undefined) throw taskNotFound();
    return task;
  }

  return {
    read,
    watch: (taskId, listener, knowsSubtasks = false) => sight.watch(taskId, listener, knowsSubtasks),

    async answer(principal, taskId, responses) {
      const seen = await read(principal, taskId);
      const below = answersBelow(seen, responses);
      if (below.length === 0) {
        return change(taskId, (task) => answering(task, checked(task, responses, limits), store.now()));
      }
      // What a question asks never changes, so what fits here fits in the commit, which is one for all of them.
      const own = checked(seen, responses, limits);
      const theirs = new Map<string, Record<string, InputResponse>>();
      for (const { task, key, pathKey, response } of below) {
        const fitting = checkAnswer(pathKey, task.inputs[key]!.request, response, limits);
        theirs.set(task.id, { ...theirs.get(task.id), [key]: fitting });
      }
      const [task] = await Promise.all([
        change(taskId, (task) => answering(task, own, store.now())),
        ...[...theirs].map(([id, answers]) => store.change(id, (task) => answering(task, answers, store.now()))),
      ]);
      return task;
    },

    async decline(principal, taskId, key) {
      const seen = await read(principal, taskId);
      const [below] = answersBelow(seen, { [key]: undefined });
      await (below === undefined
        ? change(taskId, (task) => declining(task, key, store.now()))
        : store.change(below.task.id, (task) => declining(task, below.key, store.now())));
    },

    async bornIn(principal, session) {
      const statuses: TaskStatus[] = ['working', 'input_required'];
      const live = await store.list(principalKey(principal), { limit: LOOKED_AT, statuses });
      return live.filter(({ birth }) => birth?.session === session);
    },

    async cancel(principal, taskId) {
      await read(principal, taskId);
      const task = await store.changeTree(taskId, (current) => cancelling(current, store.now()));
      if (task === undefined) throw taskNotFound();
      return task;
    },

    untilItAsksOrEnds(principal, taskId, signal) {
      return new Promise((resolve, reject) => {
        const settle = (task: SeenTask): void => {
          if (!isTerminal(task) && !isAsking(task)) return;
          stop();
          resolve(task);
        };
        const giveUp = (): void => {
          stop();
          reject(signal.reason as Error);
        };
        const unwatch = sight.watch(taskId, settle, false);
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
