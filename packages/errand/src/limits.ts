import { ErrandError } from './errors.ts';
import type { JsonValue } from './json.ts';

/** How much one caller, one task and one server may take. `Infinity` takes a limit away. */
export interface Limits {
  /** Bytes of the arguments of a call, as JSON. */
  readonly argumentBytes: number;
  /** Bytes of a tool's result, as JSON. */
  readonly resultBytes: number;
  /** Bytes of one answer to a question, as JSON. */
  readonly answerBytes: number;
  /** Bytes of what the journal keeps of one step, as JSON. */
  readonly stepBytes: number;
  /** Steps, questions, sleeps and the like that one task may begin. */
  readonly stepsPerTask: number;
  /** Tasks of one principal that have not ended; of several processes on a store each counts them when it looks full. */
  readonly liveTasks: number;
  /** Reads of tasks by one principal, per second; twice as many in a burst. Those beyond are answered later. */
  readonly pollsPerSecond: number;
  /** Subscriptions that are open at once, of all principals; each may hold as many as it leaves free. */
  readonly subscriptions: number;
  /** Runs that wait for a slot, before new calls are refused. */
  readonly queuedRuns: number;
}

export const DEFAULT_LIMITS: Limits = {
  argumentBytes: 1024 ** 2,
  resultBytes: 4 * 1024 ** 2,
  answerBytes: 256 * 1024,
  stepBytes: 1024 ** 2,
  stepsPerTask: 20_000,
  liveTasks: 10_000,
  pollsPerSecond: 1000,
  subscriptions: 1024,
  queuedRuns: 10_000,
};

/** The default limits with some changed. Throws a `TypeError` that names one that is unknown or no limit. */
export function limitsOf(changes: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(DEFAULT_LIMITS, name)) {
      throw new TypeError(`limits.${name} is unknown; there are ${Object.keys(DEFAULT_LIMITS).join(', ')}`);
    }
    if (typeof value !== 'number' || !(value >= 1))
      throw new TypeError(`limits.${name} is a number of 1 or more, or Infinity`);
  }
  return { ...DEFAULT_LIMITS, ...changes };
}

/** Throws `tooLarge` where a value takes more than `limit` bytes as JSON. */
export function checkSize(value: JsonValue, limit: number, what: string): void {
  if (limit === Infinity) return;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes > limit) throw new ErrandError('tooLarge', `${what} takes ${bytes} bytes; at most ${limit} are kept`);
}
