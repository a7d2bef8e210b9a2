import { randomUUID } from 'node:crypto';
import { toMs } from '../duration.ts';
import { principalOf } from '../task/principal.ts';
import { describe } from '../task/transitions.ts';
import { askClient } from './calls/input.ts';
import { sleep } from './calls/sleep.ts';
import { checkStep, runStep, type Step } from './calls/step.ts';
import type { StepContext, StepOptions, TaskContext } from './context.ts';
import { createQuestions } from './questions.ts';
import type { Run } from './run.ts';

/** What the handler of a run is given. */
export function createTaskContext(run: Run): TaskContext {
  const { journal, signal, log } = run;
  return {
    ...createQuestions(run.task.capabilities, (question) => askClient(run, question)),
    id: run.task.id,
    principal: principalOf(run.task.principal),
    prepared: structuredClone(run.task.prepared ?? null),
    signal,
    log,
    async step<T>(name: string, fn: (step: StepContext) => T | Promise<T>, options: StepOptions = {}): Promise<T> {
      const step: Step = { name, fn, options };
      checkStep(step);
      return (await journal.begin('step', name, (call) => void runStep(run, call, step)).promise) as T;
    },
    sleep: (duration) => sleep(run, toMs(duration, 'sleep')),
    now: () => journal.value('now', 'now', () => run.now()) as number,
    uuid: () => journal.value('uuid', 'uuid', () => randomUUID()) as string,
    status: createStatus(run),
  };
}

/** Shows texts one write at a time: what comes in between is merged, and the last one is never lost. */
function createStatus(run: Run): (message: string) => void {
  let next: string | undefined;
  let writing = false;

  async function write(): Promise<void> {
    writing = true;
    while (next !== undefined) {
      const message = next;
      next = undefined;
      await run.write((task, now) => describe(task, message, now));
    }
    writing = false;
  }

  return (message) => {
    if (typeof message !== 'string') throw new TypeError('status: the message is a text');
    // What was shown before a crash need not be shown again.
    if (!run.journal.live) return;
    next = message;
    if (!writing) write().catch(run.abandon);
  };
}
