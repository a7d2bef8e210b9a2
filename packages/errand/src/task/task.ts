import type { JsonObject, JsonValue } from '../json.ts';
import type { Input, InputCapabilities } from './input.ts';

/**
 * Where a task stands.
 *
 * `completed`, `failed` and `cancelled` are terminal: whatever comes later changes nothing.
 */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** What a tool answered, as it would have answered `tools/call` at once. */
export interface ToolResult {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: JsonValue;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

/** A JSON-RPC error. */
export interface TaskError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue;
}

/**
 * How a task's work came out: kept as it happened, not as a wire calls it. Whether a tool
 * result with `isError` reads as failed is up to the dialect of whoever asks.
 */
export type TaskOutcome =
  { readonly kind: 'result'; readonly result: ToolResult } | { readonly kind: 'error'; readonly error: TaskError };

/** How far a task is. Neither number ever falls. */
export interface Progress {
  readonly done: number;
  readonly total?: number;
  /** Set where it was not reported, but follows from how far the subtasks are. */
  readonly rolledUp?: true;
}

/** Where a subtask hangs in its graph. */
export interface Parent {
  /** The task whose handler made it. */
  readonly id: string;
  /** The task that no handler made, from which the graph grew. */
  readonly root: string;
  /** Its key among the subtasks of its parent. */
  readonly key: string;
  /** The keys from the root down to it, `chunk-3/page-1`. */
  readonly path: string;
  /** The keys of the subtasks beside it that it runs after. */
  readonly after?: readonly string[];
  /** What it counts for in the progress of its parent. Absent: 1. */
  readonly weight?: number;
}

/** The key under which a client makes a task once, however often it asks. */
export interface Idempotency {
  readonly key: string;
  /** Stands for the arguments: the same key with others is an error. */
  readonly digest: string;
}

/** What is known of the request that made a task only where it came in a session, and is wanted again later. */
export interface Birth {
  /** The session that it came in. */
  readonly session?: string;
  /** By what its client knows what progress belongs to it, as long as the task lives (L-39). */
  readonly progressToken?: string | number;
}

/**
 * A durable record of one request being served. Plain data; every change makes a new one.
 * All times are in ms since the epoch, all durations in ms.
 */
export interface Task {
  readonly id: string;
  /** Raised by one with each change; a change is a compare-and-set on it. */
  readonly version: number;
  /** The key of the principal that the task belongs to. */
  readonly principal: string;
  readonly tool: string;
  /** The version of the tool that the task began with, and keeps. */
  readonly toolVersion: string;
  readonly arguments: JsonObject;
  /** What the tool's `prepare` found out before there was a task. */
  readonly prepared?: JsonValue;
  /** Random text that the keys of the task's steps derive from. */
  readonly seed: string;
  readonly capabilities: InputCapabilities;
  /** Set on subtasks only. */
  readonly parent?: Parent;
  /** What its work may do: the scopes of the caller's token, or fewer. Absent where no token limits it. */
  readonly scopes?: readonly string[];
  readonly idempotency?: Idempotency;
  /** The id of the task that cleans up when this one has ended; kept free for it. */
  readonly cleanUp?: string;
  /** The task that this one cleans up after, and whose that was. */
  readonly cleansUp?: { readonly id: string; readonly principal: string };
  /** The trace (W3C `traceparent`) of the request that made it. */
  readonly traceparent?: string;
  readonly birth?: Birth;

  readonly status: TaskStatus;
  readonly statusMessage?: string;
  readonly progress?: Progress;
  readonly inputs: Readonly<Record<string, Input>>;
  /** Set exactly when the status is `completed` or `failed`. */
  readonly outcome?: TaskOutcome;

  readonly createdAt: number;
  /** Moves only when something changed that a client can see, and never back. */
  readonly lastUpdatedAt: number;
  /** When the work must have ended, waits included. */
  readonly deadlineAt: number;
  /** When the task may vanish: never earlier, whenever it ended. */
  readonly expiresAt: number;
  readonly pollIntervalMs: number;

  /** Raised when a run loses the right to write. */
  readonly epoch: number;
  /** When a run should look at the task; absent while only an answer can move it on. */
  readonly wakeAt?: number;
  /** How many runs of the handler have begun; counted only where a second one is not allowed. */
  readonly runs: number;
  /** Why no run fits the task, until fitting code comes. */
  readonly held?: string;
  /** A subtask whose predecessors have not all ended; no run looks at it before. */
  readonly blocked?: true;
  /** Nothing of it runs until it is resumed. */
  readonly paused?: true;
  /** What its work was told on the way, in the order in which it was said. */
  readonly steering?: readonly JsonValue[];
  /** How often a whole run has failed and was tried again. */
  readonly retries?: number;
  /** How many subtasks its handler has made. */
  readonly subtasks?: number;
  /** How many events its log has seen. The store counts. */
  readonly events: number;
}

/** Whether a task has ended for good. */
export function isTerminal(task: Pick<Task, 'status'>): boolean {
  return task.status === 'completed' || task.status === 'failed' || task.status === 'cancelled';
}
