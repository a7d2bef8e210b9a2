import type { CallOutcome } from '../../task/journal.ts';
import type { Task } from '../../task/task.ts';
import type { Call } from '../journal.ts';
import type { Run } from '../run.ts';

/** Begins a sleep that a restart neither shortens nor lengthens. `ms` is how long. */
export async function sleep(run: Run, ms: number): Promise<void> {
  const start = (begun: Call): void => void wait(run, begun);
  await run.journal.begin('sleep', 'sleep', start, () => run.now() + ms).promise;
}

async function wait(run: Run, call: Call): Promise<void> {
  try {
    const at = call.entry.value as number;
    if (at > run.task.deadlineAt) return await run.journal.end(call, pastDeadline(run.task, 'a sleep'));
    run.persist('sleep');
    run.at(at, () => {
      run.journal.end(call, { value: null }).catch(run.abandon);
    });
    // The time at which it ends must survive a crash, or the sleep would start anew.
    if (!call.replayed) await run.write((task) => task);
  } catch (error) {
    run.abandon(error);
  }
}

/** How a wait ends that would outlast its task: an error where it is written, not a surprise days later. */
export function pastDeadline(task: Task, what: string): CallOutcome {
  const deadline = new Date(task.deadlineAt).toISOString();
  const message = `${what} does not fit before the task's deadline (${deadline}); give the tool a longer deadline`;
  return { failure: { name: 'DeadlineError', message } };
}
