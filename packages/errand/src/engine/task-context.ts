import { randomUUID } from 'node:crypto';
import { toMs } from '../duration.ts';
import { principalOf } from '../task/principal.ts';
import { askClient } from './calls/input.ts';
import { sleep } from './calls/sleep.ts';
import { runStep, toStep } from './calls/step.ts';
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
      const step = toStep(name, fn, options);
      return (await journal.begin('step', name, (call) => void runStep(run, call, step)).promise) as T;
    },
    sleep: (duration) => sleep(run, toMs(duration, 'sleep')),
    now: () => journal.value('now', 'now', () => run.now()) as number,
    uuid: () => journal.value('uuid', 'uuid', () => randomUUID()) as string,
    status(message) {
      if (typeof message !== 'string') throw new TypeError('status: the message is a text');
      run.describe(message);
    },
  };
}
