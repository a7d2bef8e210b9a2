import { toMs } from '../duration.ts';
import { isObject } from '../json.ts';
import { show } from '../options.ts';
import type { RetryPolicy } from './context.ts';

/** A retry policy with its defaults filled in. Durations in ms. */
export interface Retry {
  readonly attempts: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  readonly when: ((error: Error) => boolean) | undefined;
}

/** No wait is longer than this, or than the first one, where nothing else is said, in ms. */
const LONGEST = 30_000;

/** Throws a `TypeError` that names `what` where a policy makes no sense. */
export function toRetry(what: string, policy: RetryPolicy = {}): Retry {
  const given: unknown = policy;
  if (!isObject(given))
    throw new TypeError(`${what}: retry is ${show(given)}; it says how, for instance { attempts: 3, backoff: '1s' }`);
  const { attempts = 1, backoff = 500, maxBackoff, when } = policy;
  if (!Number.isInteger(attempts) || attempts < 1) {
    throw new TypeError(`${what}: retry.attempts is ${attempts}; it counts all attempts, so 1 or more`);
  }
  if (when !== undefined && typeof when !== 'function')
    throw new TypeError(`${what}: retry.when is ${show(when)}; it is a function of the error`);
  const backoffMs = toMs(backoff, `${what}: retry.backoff`);
  const longest = maxBackoff === undefined ? LONGEST : toMs(maxBackoff, `${what}: retry.maxBackoff`);
  if (maxBackoff !== undefined && longest < backoffMs)
    throw new TypeError(`${what}: retry.maxBackoff is shorter than retry.backoff`);
  return { attempts, backoffMs, maxBackoffMs: Math.max(longest, backoffMs), when };
}

/** Whether there is a point in another attempt after this one, which failed. */
export function isWorthAnother(attempt: number, { attempts, when }: Retry, error: unknown): boolean {
  return attempt < attempts && (when?.(asError(error)) ?? true);
}

/** The wait doubles with each attempt. Up to as much again is added by chance, so that what failed together parts. */
export function backoffAfter(attempt: number, { backoffMs, maxBackoffMs }: Retry): number {
  return Math.min(Math.round(backoffMs * 2 ** (attempt - 1) * (1 + Math.random())), maxBackoffMs);
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
