import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Logger } from 'pino';
import type { Duration } from '../duration.ts';
import type { Jsonified, JsonObject, JsonValue } from '../json.ts';
import type { InputKind } from '../task/input.ts';
import type { Principal } from '../task/principal.ts';
import type { ToolResult } from '../task/task.ts';

/** How a failed step is tried again. */
export interface RetryPolicy {
  /** How often the step is tried in all. Default 1: no retry. */
  readonly attempts?: number;
  /** The wait before the second attempt; it doubles from there, with jitter. Default 500 ms. */
  readonly backoff?: Duration;
  /** No wait is longer than this. Default 30 s, or `backoff` where that is more. */
  readonly maxBackoff?: Duration;
  /** Which errors are worth another attempt. Default: all. */
  readonly when?: (error: Error) => boolean;
}

export interface StepOptions {
  readonly retry?: RetryPolicy;
  /** How long one attempt may take; then its signal aborts and it has failed. */
  readonly timeout?: Duration;
  /**
   * Commit the begin before the effect. If the process dies during the effect it is never tried
   * again; the step throws `StepUnknown` instead. Cannot be combined with more than one attempt.
   */
  readonly atMostOnce?: boolean;
}

/** What the function of a step is given. */
export interface StepContext {
  /** The same text in every attempt and every run: an idempotency key for whatever is called. */
  readonly key: string;
  /** 1 in the first attempt of this run. */
  readonly attempt: number;
  /** Aborted by cancel, by the deadline, and by the step's timeout. */
  readonly signal: AbortSignal;
}

export interface InputOptions {
  /** How long to wait for the answer; then the question is withdrawn and `InputTimeout` thrown. */
  readonly timeout?: Duration;
  /**
   * Withdraws the question when aborted: for the handler to say that another branch won a race. The
   * abort must follow from other calls of the task, since a run that waits is let go of, and timers
   * with it; to limit the time, give `timeout`.
   */
  readonly signal?: AbortSignal;
}

/** A form to fill in, described by any Standard Schema of a flat object, or by a JSON Schema. */
export interface ElicitForm<S extends StandardSchemaV1 = StandardSchemaV1> extends InputOptions {
  readonly message: string;
  readonly schema: S;
}

/** A page to visit. */
export interface ElicitUrl extends InputOptions {
  readonly message: string;
  readonly url: string;
}

export type ElicitAnswer<T> =
  | { readonly action: 'accept'; readonly content: T }
  | { readonly action: 'decline' | 'cancel'; readonly content?: undefined };

/** The params of a `sampling/createMessage` request. */
export interface SampleRequest extends InputOptions {
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: JsonValue }[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly modelPreferences?: JsonObject;
  readonly includeContext?: 'none' | 'thisServer' | 'allServers';
  readonly metadata?: JsonObject;
  readonly tools?: readonly JsonObject[];
  readonly toolChoice?: JsonObject;
}

/** The model's answer to a `sampling/createMessage` request. */
export interface SampleAnswer {
  readonly role: 'user' | 'assistant';
  readonly content: JsonValue;
  readonly model: string;
  readonly stopReason?: string;
}

export interface Root {
  readonly uri: string;
  readonly name?: string;
}

/** The questions that a tool can put to its caller. */
export interface Questions {
  /** Whether the client can be asked this kind of question. */
  can(kind: InputKind): boolean;
  /** Asks a person to fill in a form. Throws `InputTimeout`, `InputWithdrawn`, or -32021 where the client cannot. */
  elicit<S extends StandardSchemaV1>(
    key: string,
    form: ElicitForm<S>,
  ): Promise<ElicitAnswer<StandardSchemaV1.InferOutput<S>>>;
  /** Asks a person to visit a page. */
  elicit(key: string, page: ElicitUrl): Promise<ElicitAnswer<undefined>>;
  /** Asks the client's model. */
  sample(key: string, request: SampleRequest): Promise<SampleAnswer>;
  /** Asks which folders the client works on. */
  roots(key: string, options?: InputOptions): Promise<readonly Root[]>;
}

export interface SubtaskOptions {
  /** Keys of subtasks that must have ended before this one begins; they may be begun later. */
  readonly after?: string | readonly string[] | undefined;
  /**
   * What a failure of the subtask does, be it an error, a result with `isError`, or a cancel. `fail`, the
   * default: awaiting it throws `SubtaskError`, and what runs after it is cancelled. `return`: it resolves with
   * a result that has `isError`, and what runs after it runs.
   */
  readonly onFailure?: 'fail' | 'return' | undefined;
  /** Where the handler returns before the subtask has ended: `wait` for it, the default, or `cancel` it. */
  readonly onParentExit?: 'wait' | 'cancel' | undefined;
  /** What the subtask may do: some of the scopes of this task, and all of them by default. */
  readonly scope?: readonly string[] | undefined;
  /** What it counts for in the progress of this task. Default 1. */
  readonly weight?: number | undefined;
}

/** A subtask that was begun: awaited, it gives the tool result of the subtask. */
export interface Subtask extends PromiseLike<ToolResult>, Pick<Promise<ToolResult>, 'catch' | 'finally'> {
  readonly key: string;
  /** The id of its task. */
  readonly id: string;
  /** Ends it as cancelled, unless it has ended; awaiting it then throws `SubtaskError`. */
  cancel(): void;
}

/**
 * What a handler is given beside its arguments.
 *
 * Between two calls on it a handler must be deterministic: after a crash it is run again from
 * the top, and each call gives what it gave the first time.
 */
export interface TaskContext extends Questions {
  /** The id of the task: what a client polls. */
  readonly id: string;
  readonly principal: Principal;
  /** What the work may do: the scopes of the caller's token, or fewer. `undefined` where no token limits it. */
  readonly scopes: readonly string[] | undefined;
  /** What the tool's `prepare` returned. */
  readonly prepared: JsonValue;
  /** Aborted by cancel and by the deadline. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /**
   * Runs an effect and records its outcome: at least once run, once recorded.
   * Resolves with the JSON copy of what `fn` returned (`undefined` becomes `null`).
   * Throws `StepError` when the last attempt failed, `StepUnknown` for an interrupted `atMostOnce` step.
   */
  step<T>(name: string, fn: (step: StepContext) => T | Promise<T>, options?: StepOptions): Promise<Jsonified<T>>;
  /**
   * Has another tool of this server do a part of the work, as a task of its own. Its key is unique in this task.
   * Throws a `TypeError` where the key is taken or an edge closes a cycle. The task ends after its subtasks.
   */
  subtask(key: string, tool: string, args?: object, options?: SubtaskOptions): Subtask;
  /** Shows how far the work is. Neither number ever falls; writes are spared, and the last one is never lost. */
  progress(done: number, total?: number, message?: string): void;
  /** Goes through `items`, and shows as progress how many are done. */
  track<T>(items: Iterable<T> | AsyncIterable<T>, message?: (item: T, index: number) => string): AsyncIterable<T>;
  /** What the task is told on the way (`errand.steer`), each message once, in every run the same. Ends with the task. */
  steering(): AsyncIterable<JsonValue>;
  /** Waits, also through restarts. Longer than what is left until the deadline is an error. */
  sleep(duration: Duration): Promise<void>;
  /** The time in ms since the epoch, the same in every run. */
  now(): number;
  /** A random UUID, the same in every run. */
  uuid(): string;
  /** Shows a text to whoever looks at the task. */
  status(message: string): void;
}
