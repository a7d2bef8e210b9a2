import { createHash } from 'node:crypto';
import { toMs } from '../../duration.ts';
import { jsonCopy } from '../../json.ts';
import { checkSize } from '../../limits.ts';
import { knownOptions } from '../../options.ts';
import type { CallOutcome } from '../../task/journal.ts';
import type { StepTrace } from '../../telemetry.ts';
import type { StepContext, StepOptions } from '../context.ts';
import { toFailure } from '../failures.ts';
import { backoffAfter, isWorthAnother, toRetry, type Retry } from '../retry.ts';
import type { Call } from '../journal.ts';
import type { Run } from '../run.ts';
import { runEffect } from './effect.ts';

/** The user's effect, and how it is tried. Durations in ms. */
export interface Step {
  readonly name: string;
  readonly fn: (step: StepContext) => unknown;
  readonly atMostOnce: boolean;
  readonly retry: Retry;
  readonly timeoutMs: number | undefined;
}

/** A step with its defaults filled in. Refuses what makes no sense, before anything is recorded. */
export function toStep(name: string, fn: Step['fn'], options: StepOptions): Step {
  if (typeof name !== 'string' || name === '') throw new TypeError('step: the first argument is its name');
  if (typeof fn !== 'function') throw new TypeError(`step "${name}": the second argument is the function to run`);
  const what = `step "${name}"`;
  knownOptions(what, options, ['retry', 'timeout', 'atMostOnce']);
  const retry = toRetry(what, options.retry);
  if (options.atMostOnce && retry.attempts > 1)
    throw new TypeError(`${what}: atMostOnce cannot be combined with retries`);
  return {
    name,
    fn,
    atMostOnce: options.atMostOnce ?? false,
    retry,
    timeoutMs: options.timeout === undefined ? undefined : toMs(options.timeout, `${what}: timeout`),
  };
}

/** Runs the effect of a step and records its outcome. */
export async function runStep(run: Run, call: Call, step: Step): Promise<void> {
  const trace = run.trace?.step(step.name);
  try {
    const outcome = await outcomeOf(run, call, step, trace);
    trace?.end(outcome);
    await run.journal.end(call, outcome);
  } catch (error) {
    run.abandon(error);
  }
}

async function outcomeOf(run: Run, call: Call, step: Step, trace: StepTrace | undefined): Promise<CallOutcome> {
  if (run.draining) return never();
  if (step.atMostOnce) {
    if (call.replayed) return unknownOutcome(step.name);
    // Nobody could tell that an effect did not take place whose begin is on disk.
    const over = run.busy(call);
    await run.write((task) => task).finally(over);
  } else if (run.pending || run.journal.holdsUnwrittenValues) {
    // No effect before its task is there, and none with a value of `now` or `uuid` that a crash would forget.
    await run.write((task) => task);
  }
  const what = `what step "${step.name}" returned`;
  try {
    const value = jsonCopy(await attempts(run, call, step, trace), `step "${step.name}"`);
    checkSize(value, run.limits.stepBytes, what);
    return { value };
  } catch (error) {
    return { failure: toFailure(error, step.name) };
  }
}

function unknownOutcome(name: string): CallOutcome {
  const message = `step "${name}" was interrupted; whether its effect took place is unknown`;
  return { failure: { name: 'StepUnknown', message } };
}

/** An idempotency key: the same for every attempt and every run of this step, and for no other. */
function stepKey(seed: string, call: Call): string {
  return createHash('sha256')
    .update(`${seed}\n${call.entry.name}\n${call.entry.ordinal}`)
    .digest('base64url')
    .slice(0, 32);
}

/** Tries the effect until it succeeds, or until there is no point in another attempt. */
async function attempts(run: Run, call: Call, step: Step, trace: StepTrace | undefined): Promise<unknown> {
  const { name, fn, retry } = step;
  const key = stepKey(run.task.seed, call);
  for (let attempt = 1; ; attempt++) {
    await run.resumed();
    // What is on disk as begun, once and for all, has to take place; all else is for another process.
    if (run.draining && !step.atMostOnce) return never();
    try {
      return await once(run, step, (signal) => {
        const effect = (): unknown => fn({ key, attempt, signal });
        return trace === undefined ? effect() : trace.within(effect);
      });
    } catch (error) {
      if (run.signal.aborted || !isWorthAnother(attempt, retry, error)) throw error;
      run.log.warn({ step: name, attempt, err: error }, 'step failed, trying again');
      const failure = toFailure(error, name);
      run.note({ kind: 'step_retried', name, ordinal: call.entry.ordinal, attempt, failure });
      run.write((task) => task).catch(run.abandon); // whoever follows the log hears of it before the next attempt
      trace?.retried(error);
    }
    // Where the run is over meanwhile, this waits for ever, and nothing holds it.
    await new Promise<void>((resolve) => void run.after(backoffAfter(attempt, retry), resolve));
  }
}

/** What another process will do: nobody here waits for it. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

/** One attempt: its signal aborts with the run's and with the timeout, which does not wait for it. */
async function once<T>(run: Run, { name, timeoutMs }: Step, fn: (signal: AbortSignal) => T): Promise<Awaited<T>> {
  const controller = new AbortController();
  const relay = (): void => controller.abort(run.signal.reason);
  if (run.signal.aborted) relay();
  run.signal.addEventListener('abort', relay, { once: true });
  const effect = { journal: run.journal, step: name };
  const over = run.busy(effect);
  let stopTimer: (() => void) | undefined;
  try {
    const result = Promise.resolve(runEffect(effect, () => fn(controller.signal)));
    if (timeoutMs === undefined) return await result;
    const late = new Promise<never>((_, reject) => {
      stopTimer = run.after(timeoutMs, () => {
        const error = new Error(`step "${name}" took longer than ${timeoutMs} ms`);
        error.name = 'TimeoutError';
        reject(error);
        controller.abort(error);
      });
    });
    return await Promise.race([result, late]);
  } finally {
    over();
    stopTimer?.();
    run.signal.removeEventListener('abort', relay);
  }
}
