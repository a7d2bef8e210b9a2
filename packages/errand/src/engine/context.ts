import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Logger } from 'pino';
import type { Duration } from '../duration.ts';
import type { Jsonified, JsonObject, JsonValue } from '../json.ts';
import type { InputKind } from '../task/input.ts';
import type { Principal } from '../task/principal.ts';

/** How a failed step is tried again. */
export interface RetryPolicy {
  /** How often the step is tried in all. Default 1: no retry. */
  readonly attempts?: number;
  /** The wait before the second attempt; it doubles from there, with jitter. Default 500 ms. */
  readonly backoff?: Duration;
  /** No wait is longer than this. Default 30 s. */
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
  /** Waits, also through restarts. Longer than what is left until the deadline is an error. */
  sleep(duration: Duration): Promise<void>;
  /** The time in ms since the epoch, the same in every run. */
  now(): number;
  /** A random UUID, the same in every run. */
  uuid(): string;
  /** Shows a text to whoever looks at the task. */
  status(message: string): void;
}
