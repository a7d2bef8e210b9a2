import { createHash } from 'node:crypto';
import pRetry from 'p-retry';
import { toMs } from '../../duration.ts';
import { jsonCopy } from '../../json.ts';
import { checkSize } from '../../limits.ts';
import type { CallOutcome } from '../../task/journal.ts';
import { LONGEST, setTimer } from '../alarm.ts';
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
    maxBackoffMs: Math.min(toMs(maxBackoff, `${what}: retry.maxBackoff`), LONGEST),
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
  } else if (run.journal.holdsUnwrittenValues) {
    // A value of `now` or `uuid` must not be forgotten once an effect may have used it.
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

/** Carries an error past p-retry, which would treat some kinds of error differently. */
class Attempt extends Error {
  override readonly name = 'Attempt';
}

async function attempts(run: Run, key: string, step: Step): Promise<unknown> {
  const { name, fn, when } = step;
  try {
    return await pRetry(
      async (attempt) => {
        try {
          const effect = { journal: run.journal, step: name };
          return await once(run, step, (signal) => runEffect(effect, () => fn({ key, attempt, signal })));
        } catch (cause) {
          throw new Attempt(name, { cause });
        }
      },
      {
        retries: step.attempts - 1,
        minTimeout: step.backoffMs,
        maxTimeout: step.maxBackoffMs,
        randomize: true,
        signal: run.signal,
        shouldRetry: ({ error }) => when?.(asError(error.cause)) ?? true,
        onFailedAttempt: ({ error, attemptNumber, retriesLeft }) => {
          if (retriesLeft > 0)
            run.log.warn({ step: name, attempt: attemptNumber, err: error.cause }, 'step failed, trying again');
        },
      },
    );
  } catch (error) {
    throw error instanceof Attempt ? error.cause : error;
  }
}

/** One attempt: its signal aborts with the run's and with the timeout, which does not wait for it. */
async function once<T>(run: Run, { name, timeoutMs }: Step, fn: (signal: AbortSignal) => T): Promise<Awaited<T>> {
  const controller = new AbortController();
  const relay = (): void => controller.abort(run.signal.reason);
  if (run.signal.aborted) relay();
  run.signal.addEventListener('abort', relay, { once: true });
  let stopTimer: (() => void) | undefined;
  try {
    const result = Promise.resolve(fn(controller.signal));
    if (timeoutMs === undefined) return await result;
    const late = new Promise<never>((_, reject) => {
      stopTimer = setTimer(timeoutMs, () => {
        const error = new Error(`step "${name}" took longer than ${timeoutMs} ms`);
        error.name = 'TimeoutError';
        reject(error);
        controller.abort(error);
      });
    });
    return await Promise.race([result, late]);
  } finally {
    stopTimer?.();
    run.signal.removeEventListener('abort', relay);
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
