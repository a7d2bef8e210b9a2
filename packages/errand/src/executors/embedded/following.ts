import { cancelling } from '../../engine/ending.ts';
import type { Watch } from '../../engine/watching.ts';
import { ErrandError } from '../../errors.ts';
import type { Attempt, AttemptOutcome } from '../../executor.ts';
import type { Store } from '../../store.ts';
import { isTerminal, type Task } from '../../task/task.ts';

/** A call whose task another process runs. */
export interface Following extends Attempt {
  /** Answers the call with an error and cancels its task, unless somebody knows of it by now. */
  takeBack(why: ErrandError): Promise<void>;
}

/**
 * What a front end makes of a call: its task is written down at once, for the owner of the tasks to
 * run, and followed until it ends, asks, or is to be answered as a task.
 */
export function follow(store: Store, watch: Watch, task: Task): Following {
  let resolve!: (outcome: AttemptOutcome) => void;
  let reject!: (error: unknown) => void;
  const outcome = new Promise<AttemptOutcome>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  const listeners = new Set<(task: Task) => void>();
  let latest = task;
  let isOver = false;

  function end(settle: () => void): void {
    isOver = true;
    unwatch();
    settle();
  }

  const unwatch = watch(task.id, (seen) => {
    latest = seen;
    if (isOver) return;
    for (const listener of listeners) listener(seen);
    const { outcome, held, status, subtasks } = seen;
    if (outcome !== undefined) end(() => resolve({ kind: 'ended', outcome }));
    else if (isTerminal(seen)) end(() => reject(new ErrandError('internal', 'the call was cancelled')));
    // What it waits for may be asked below it.
    else if (status === 'input_required' || subtasks !== undefined) end(() => resolve({ kind: 'task', task: seen }));
    else if (held !== undefined)
      void takeBack(new ErrandError('internal', `the process that runs tasks says: ${held}`));
  });
  const written = store.create(() => ({ task }));
  written.catch((error: unknown) => end(() => reject(error)));

  async function takeBack(why: ErrandError): Promise<void> {
    if (isOver) return;
    end(() => reject(why));
    await written.then(
      () => store.changeTree(task.id, (current) => cancelling(current, store.now())),
      () => undefined,
    );
  }

  return {
    outcome,
    takeBack,
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    persist() {
      if (!isOver) end(() => void written.then(() => resolve({ kind: 'task', task: latest }), reject));
    },
    abandon() {
      // Where the store is away, the task runs to its end, or its deadline, and nobody asks for it.
      takeBack(new ErrandError('internal', 'the call was taken back')).catch(() => undefined);
    },
  };
}
