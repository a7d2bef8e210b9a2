import { inspect } from 'node:util';
import { ErrandError } from '../errors.ts';
import { jsonCopy, type JsonValue } from '../json.ts';
import { checkSize } from '../limits.ts';
import { issuesText, type Issue } from '../schema.ts';
import type { Failure } from '../task/journal.ts';

/** A step failed for good. Carries what the journal kept of the error, the same in every run. */
export class StepError extends Error {
  override readonly name: string;
  readonly code: string | number | undefined;
  readonly data: JsonValue | undefined;

  constructor(failure: Failure) {
    super(failure.message);
    this.name = failure.name;
    this.code = failure.code;
    this.data = failure.data;
  }
}

/** An `atMostOnce` step was interrupted: whether its effect took place is unknown. It is never run again. */
export class StepUnknown extends StepError {}

/** Nobody answered a question in time; it was withdrawn. */
export class InputTimeout extends StepError {}

/** A question was withdrawn before it was answered. */
export class InputWithdrawn extends StepError {}

/** A subtask failed or was cancelled. `data` has its `taskId`, its `status`, and its `error` or tool `result`. */
export class SubtaskError extends StepError {}

const FAMILY = new Map<string, new (failure: Failure) => StepError>(
  Object.entries({ StepUnknown, InputTimeout, InputWithdrawn, SubtaskError }),
);

/** The error that a handler sees for a failure of the journal. */
export function toError(failure: Failure): StepError {
  return new (FAMILY.get(failure.name) ?? StepError)(failure);
}

/** Longer messages are cut: they are for people, and data has a place of its own. */
const LONGEST_MESSAGE = 10_000;
/** Longer names and codes of errors are cut. */
const LONGEST_NAME = 200;
/** More bytes of data, as JSON, are not kept of an error. */
const MOST_DATA = 64 * 1024;

/** A text for people, cut where it is too long for them. */
export function shortened(text: string, length = LONGEST_MESSAGE): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** The message of whatever was thrown, as a text. */
export function messageOf(thrown: unknown): string {
  const message: unknown = thrown instanceof Error ? thrown.message : thrown;
  return shortened(typeof message === 'string' ? message : inspect(message));
}

/** What the journal keeps of a thrown value. Names the step where its data is no JSON. */
export function toFailure(thrown: unknown, step: string): Failure {
  if (!(thrown instanceof Error)) return { name: 'Error', message: messageOf(thrown) };
  const { code, data } = thrown as { code?: unknown; data?: unknown };
  return {
    name: shortened(thrown.name, LONGEST_NAME),
    message: messageOf(thrown),
    ...(typeof code === 'number' && { code }),
    ...(typeof code === 'string' && { code: shortened(code, LONGEST_NAME) }),
    ...(data === undefined ? {} : { data: jsonOf(data, `the data of the error that step "${step}" threw`) }),
  };
}

/** The JSON copy of what came with an error; where it is none, or too large, what is wrong with it. */
export function jsonOf(data: unknown, what: string): JsonValue {
  try {
    const json = jsonCopy(data, what);
    checkSize(json, MOST_DATA, what);
    return json;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * An answer fits the form that the client was shown, but not a rule of the schema that JSON Schema
 * cannot say, such as a `refine`. The question is spent; ask again under another key.
 */
export class AnswerRejected extends Error {
  override readonly name = 'AnswerRejected';

  constructor(
    readonly key: string,
    readonly issues: readonly Issue[],
  ) {
    super(`the answer to "${key}" does not fit its schema: ${issuesText(issues)}`);
  }
}

/** The work did not end before its deadline (ms since the epoch). */
export function deadlinePassed(deadlineAt: number): ErrandError {
  return new ErrandError(
    'deadline',
    `the deadline passed (${new Date(deadlineAt).toISOString()}) before the work ended`,
  );
}

/** A run lost its right to write: the task ended, or another run took it over. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** The handler asks for something else than its journal has: the code changed under the task. */
export class JournalMismatch extends ErrandError {
  constructor(detail: string) {
    super('internal', `the code no longer fits this task's journal: ${detail}`);
  }
}
