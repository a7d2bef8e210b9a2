import { createHash } from 'node:crypto';
import { toMs } from '../../duration.ts';
import { jsonCopy } from '../../json.ts';
import { checkSize } from '../../limits.ts';
import type { CallOutcome } from '../../task/journal.ts';
import type { StepContext, StepOptions } from '../context.ts';
import { toFailure } from '../failures.ts';
import type { Call } from '../journal.ts';
import type { Run } from '../run.ts';
import { runEffect } from './effect.ts';

/** The user's effect, and how it is tried. Durations in ms. */
export interface Step {
  readonly name: string;
  readonly fn: (step: StepContext) => unknown;
  readonly atMostOnce: boolean;
  readonly attempts: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  readonly when: ((error: Error) => boolean) | undefined;
  readonly timeoutMs: number | undefined;
}

/** A step with its defaults filled in. Refuses what makes no sense, before anything is recorded. */
export function toStep(name: string, fn: Step['fn'], options: StepOptions): Step {
  if (typeof name !== 'string' || name === '') throw new TypeError('step: the first argument is its name');
  if (typeof fn !== 'function') throw new TypeError(`step "${name}": the second argument is the function to run`);
  const what = `step "${name}"`;
  const { attempts = 1, backoff = 500, maxBackoff = '30s', when } = options.retry ?? {};
  if (!Number.isInteger(attempts) || attempts < 1) {
    throw new TypeError(`${what}: retry.attempts is ${attempts}; it counts all attempts, so 1 or more`);
  }
  if (options.atMostOnce && attempts > 1) throw new TypeError(`${what}: atMostOnce cannot be combined with retries`);
  return {
    name,
    fn,
    atMostOnce: options.atMostOnce ?? false,
    attempts,
    backoffMs: toMs(backoff, `${what}: retry.backoff`),
    maxBackoffMs: toMs(maxBackoff, `${what}: retry.maxBackoff`),
    when,
    timeoutMs: options.timeout === undefined ? undefined : toMs(options.timeout, `${what}: timeout`),
  };
}

/** Runs the effect of a step and records its outcome. */
export async function runStep(run: Run, call: Call, step: Step): Promise<void> {
  try {
    await run.journal.end(call, await outcomeOf(run, call, step));
  } catch (error) {
    run.abandon(error);
  }
}

async function outcomeOf(run: Run, call: Call, step: Step): Promise<CallOutcome> {
  if (step.atMostOnce) {
    if (call.replayed) return unknownOutcome(step.name);
    await run.write((task) => task);
  } else if (run.pending || run.journal.holdsUnwrittenValues) {
    // No effect before its task is there, and none with a value of `now` or `uuid` that a crash would forget.
    await run.write((task) => task);
  }
  const what = `what step "${step.name}" returned`;
  try {
    const value = jsonCopy(await attempts(run, stepKey(run.task.seed, call), step), `step "${step.name}"`);
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
async function attempts(run: Run, key: string, step: Step): Promise<unknown> {
  const { name, fn, when } = step;
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(run, step, (signal) => fn({ key, attempt, signal }));
    } catch (error) {
      if (attempt === step.attempts || run.signal.aborted || !(when?.(asError(error)) ?? true)) throw error;
      run.log.warn({ step: name, attempt, err: error }, 'step failed, trying again');
    }
    // Where the run is over meanwhile, this waits for ever, and nothing holds it.
    await new Promise<void>((resolve) => void run.after(backoffAfter(attempt, step), resolve));
  }
}

/** The wait doubles with each attempt. Up to as much again is added by chance, so that steps which failed together part. */
function backoffAfter(attempt: number, { backoffMs, maxBackoffMs }: Step): number {
  return Math.min(Math.round(backoffMs * 2 ** (attempt - 1) * (1 + Math.random())), maxBackoffMs);
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

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
