import { randomUUID } from 'node:crypto';
import { toMs } from '../duration.ts';
import type { Jsonified } from '../json.ts';
import { AT_MOST_ONCE } from '../task/journal.ts';
import { principalOf } from '../task/principal.ts';
import type { Progress } from '../task/task.ts';
import { createPathGuard } from './below.ts';
import { askClient } from './calls/input.ts';
import { refuseWithinEffect } from './calls/effect.ts';
import { sleep } from './calls/sleep.ts';
import { runStep, toStep } from './calls/step.ts';
import { steering } from './calls/steering.ts';
import type { Subtasks } from './calls/subtask.ts';
import { checkTrackable, track } from './calls/track.ts';
import type { Questions, StepContext, StepOptions, TaskContext } from './context.ts';
import { shortened } from './failures.ts';
import { createQuestions } from './questions.ts';
import type { Call } from './journal.ts';
import type { Run } from './run.ts';

/** What the handler of a run is given. `subtasks` are made for who begins one. */
export function createTaskContext(run: Run, subtasks: () => Subtasks): TaskContext {
  const { journal, task } = run;
  const mayBegin = (what: string): void => refuseWithinEffect(journal, what);
  // Below a root all paths differ anyhow.
  const paths = task.parent === undefined ? createPathGuard() : undefined;
  const { can, elicit, sample, roots } =
    task.cleansUp === undefined
      ? createQuestions(task.capabilities, run.limits, (question) => {
          mayBegin(`the question "${question.key}"`);
          paths?.asks(question.key);
          return askClient(run, question);
        })
      : NOBODY;
  const context: TaskContext = {
    can,
    elicit,
    sample,
    roots,
    id: task.cleansUp?.id ?? task.id,
    principal: principalOf(task.cleansUp?.principal ?? task.principal),
    scopes: task.scopes,
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
      const start = (call: Call): void => void runStep(run, call, step);
      // A retry of the whole run must know which steps it may run again.
      const mark = step.atMostOnce ? () => AT_MOST_ONCE : undefined;
      return (await journal.begin('step', name, start, mark).promise) as Jsonified<T>;
    },
    subtask(key, tool, args = {}, options = {}) {
      mayBegin(`subtask "${key}"`);
      if (task.cleansUp !== undefined)
        throw new TypeError(`subtask "${key}": onEnd begins no subtasks, as its task has ended`);
      paths?.begins(key);
      return subtasks().begin(key, tool, args, options);
    },
    progress(done, total, message) {
      run.show({ progress: toProgress(done, total), ...(message !== undefined && { message: toText(message) }) });
    },
    track(items, message) {
      checkTrackable(items);
      return track(items, (done, total, text) => context.progress(done, total, text), message);
    },
    steering: () => steering(run, () => mayBegin('steering')),
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
      run.show({ message: toText(message) });
    },
  };
  return context;
}

/** Whom a clean-up can ask. */
const NOBODY: Questions = {
  can: () => false,
  elicit: refuseQuestion,
  sample: refuseQuestion,
  roots: refuseQuestion,
};

async function refuseQuestion(key: string): Promise<never> {
  throw new TypeError(`the question "${key}": onEnd can ask nobody, as its task has ended`);
}

function toProgress(done: number, total: number | undefined): Progress {
  if (!Number.isFinite(done) || done < 0) throw new TypeError(`progress: done is ${done}; it is a number of 0 or more`);
  if (total === undefined) return { done };
  if (!Number.isFinite(total) || total < done)
    throw new TypeError(`progress: total is ${total}; it is a number that is not below done, ${done} (P-4)`);
  return { done, total };
}

function toText(message: string): string {
  if (typeof message !== 'string') throw new TypeError('status: the message is a text');
  return shortened(message);
}
