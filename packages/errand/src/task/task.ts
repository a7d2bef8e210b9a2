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
}

/** Whether a task has ended for good. */
export function isTerminal(task: Pick<Task, 'status'>): boolean {
  return task.status === 'completed' || task.status === 'failed' || task.status === 'cancelled';
}
