import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Duration } from '../duration.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { WithoutTasks } from './hold.ts';
import type { TaskEnd } from '../task/clean-up.ts';
import type { Questions, RetryPolicy, TaskContext } from './context.ts';

/**
 * What a handler may return: a text, or a tool result as MCP knows it. That it is JSON, and that
 * its blocks are content blocks, is checked when it is returned.
 */
export type HandlerResult =
  | string
  | {
      readonly content: readonly object[];
      readonly structuredContent?: unknown;
      readonly isError?: boolean | undefined;
      readonly _meta?: object | undefined;
    };

/** The user's function behind a tool. One that takes `task` is replayed after a crash. */
export type Handler<A> = (args: A, task: TaskContext) => HandlerResult | Promise<HandlerResult>;

/** An earlier version of a tool, kept for the tasks that began with it. */
export interface PreviousVersion {
  readonly version: string;
  /** The schema that the arguments of that version were parsed by. Without it the handler gets them as the client sent them. */
  readonly inputSchema?: StandardSchemaV1;
  // What the handler takes is what that schema, if it is given, makes of the arguments.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly handler: Handler<any>;
}

/** Where `withoutTasks` and `holdFor` are not given, those of the server hold. */
export interface ToolOptions<S extends StandardSchemaV1 | undefined = undefined> extends WithoutTasks {
  readonly title?: string;
  readonly description?: string;
  /** Any Standard Schema that can describe itself as JSON Schema (zod 4, ArkType, Valibot's `toStandardJsonSchema`), or `jsonSchema(...)`. */
  readonly inputSchema?: S;
  readonly outputSchema?: StandardSchemaV1;
  readonly annotations?: JsonObject & { readonly readOnlyHint?: boolean; readonly idempotentHint?: boolean };
  readonly icons?: JsonValue;
  readonly _meta?: JsonObject;
  /**
   * `always`: a client that takes tasks gets a task.
   * `auto`: the plain result when done within `patience`, else a task, decided per call. The default.
   * `never`: always the plain result; the handler cannot take steps or sleep.
   */
  readonly task?: 'always' | 'auto' | 'never';
  /** Default 800 ms. */
  readonly patience?: Duration;
  /** When the work must have ended, counted from creation, waits included. Default 24 h. */
  readonly deadline?: Duration;
  /** How long a finished task stays readable. Default 24 h. */
  readonly retention?: Duration;
  /** How long clients are asked to wait between two polls. Default 1 s. */
  readonly pollInterval?: Duration;
  /** How many runs of this tool may be busy at once. Default: only the server's limit. */
  readonly concurrency?: number;
  /**
   * Whether a run that was interrupted is run again: `true` replays it from its journal. Default
   * true where the handler takes `task`, or is annotated as idempotent or read-only.
   */
  readonly replay?: boolean;
  /**
   * How a whole run is tried again that failed, as `when` says, for a passing reason: what is recorded stays, and
   * only the step that failed is run again. Not where that would ask a question twice, make a subtask twice, or
   * run an `atMostOnce` step again. Default: no retry.
   */
  readonly retry?: RetryPolicy;
  /**
   * Cleans up after a task has ended, however it did: a run of its own, with steps that are recorded, tried again
   * where it fails (as `retry` says but for its `when`, or five times). The client does not see it, and cannot be asked.
   */
  readonly onEnd?: (end: TaskEnd, task: TaskContext) => unknown;
  /** Name a new version when the handler no longer fits the journals of tasks that are under way. Default `'1'`. */
  readonly version?: string;
  readonly previous?: readonly PreviousVersion[];
  /** Asks what must be known before there is a task; what it returns is `task.prepared`. */
  readonly prepare?: (
    args: S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : JsonObject,
    ask: Questions,
  ) => JsonValue | Promise<JsonValue>;
}
