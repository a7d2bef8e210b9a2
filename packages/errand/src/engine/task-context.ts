import { randomUUID } from 'node:crypto';
import { toMs } from '../duration.ts';
import type { Jsonified } from '../json.ts';
import { principalOf } from '../task/principal.ts';
import { askClient } from './calls/input.ts';
import { refuseWithinEffect } from './calls/effect.ts';
import { sleep } from './calls/sleep.ts';
import { runStep, toStep } from './calls/step.ts';
import type { StepContext, StepOptions, TaskContext } from './context.ts';
import { createQuestions } from './questions.ts';
import type { Run } from './run.ts';

/** What the handler of a run is given. */
export function createTaskContext(run: Run): TaskContext {
  const { journal, task } = run;
  const mayBegin = (what: string): void => refuseWithinEffect(journal, what);
  const { can, elicit, sample, roots } = createQuestions(task.capabilities, (question) => {
    mayBegin(`the question "${question.key}"`);
    return askClient(run, question);
  });
  return {
    can,
    elicit,
    sample,
    roots,
    id: task.id,
    principal: principalOf(task.principal),
    prepared: task.prepared === undefined ? null : structuredClone(task.prepared),
    get signal() {
      return run.signal;
    },
    get log() {
      return run.log;
    },
    async step<T>(name: string, fn: (step: StepContext) => T | Promise<T>, options: StepOptions = {}) {
      const step = toStep(name, fn, options);
      mayBegin(`step "${name}"`);
      return (await journal.begin('step', name, (call) => void runStep(run, call, step)).promise) as Jsonified<T>;
    },
    async sleep(duration) {
      const ms = toMs(duration, 'sleep');
      mayBegin('sleep');
      await sleep(run, ms);
    },
    now() {
      mayBegin('now');
      return journal.value('now', 'now', () => run.now()) as number;
    },
    uuid() {
      mayBegin('uuid');
      return journal.value('uuid', 'uuid', () => randomUUID()) as string;
    },
    status(message) {
      if (typeof message !== 'string') throw new TypeError('status: the message is a text');
      run.describe(message);
    },
  };
}
