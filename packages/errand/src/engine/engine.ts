import type { JsonObject, JsonValue } from '../json.ts';
import type { InputCapabilities, InputRequest, InputResponse } from '../task/input.ts';
import type { Principal } from '../task/principal.ts';
import type { Birth, Task, ToolResult } from '../task/task.ts';
import type { ListOptions } from '../store.ts';
import type { TraceContext } from '../traceparent.ts';
import type { TaskPage } from './commands/operator.ts';
import type { EventPage } from './events.ts';
import type { TaskGraph } from './graph.ts';

/** Who calls. */
export interface Caller {
  readonly principal: Principal;
  /** What the caller may, where tokens are checked. */
  readonly scopes?: readonly string[];
  /** Aborted when the client went away; that ends a call, and never a task. */
  readonly signal: AbortSignal;
  /** The request as it came, and the headers of what carried it, for whoever traces requests. */
  readonly message?: unknown;
  readonly header?: (name: string) => string | undefined;
}

/** A call of a tool, as any dialect decodes it. */
export interface ToolCall {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** Whether the client can take a task for an answer. */
  readonly takesTasks: boolean;
  /** Which questions the client can answer. */
  readonly capabilities: InputCapabilities;
  /** Answers that came with the call, under the keys of the questions. */
  readonly inputResponses?: Readonly<Record<string, InputResponse>>;
  /** What the client echoed from an earlier `input` answer to this call. */
  readonly requestState?: string;
  /** However often a call is made under one key, there is one task: per principal and tool, as long as the task is kept. */
  readonly idempotencyKey?: string;
  /** The trace that the call is part of, where its sender says so. */
  readonly trace?: TraceContext;
  /** Set where the client asked for a task and can take nothing else. */
  readonly wantsTask?: true;
  /** For how long the client wants a task to be kept, in ms from its creation; the tool's own times are the most. */
  readonly ttlMs?: number;
  /** What a task keeps of the session that the call came in. */
  readonly birth?: Birth;
}

/** Whether the call of a tool may make a task: it cannot, it may, or it is refused without. */
export type TaskUse = 'forbidden' | 'optional' | 'required';

/** How a call is answered. */
export type CallAnswer =
  /** With a `task` the work goes on as that, and the result says so in words. */
  | { readonly kind: 'result'; readonly result: ToolResult; readonly task?: Task }
  | { readonly kind: 'task'; readonly task: Task }
  /** The call must be made again, with answers to these questions and with the state. */
  | {
      readonly kind: 'input';
      readonly requests: Readonly<Record<string, InputRequest>>;
      readonly requestState: string;
      /** The task that asks, where it is one: then an answer to that will do, too. */
      readonly task?: SeenTask;
      /** Gives what the call may be answered with instead, where the client cannot be asked and the work may go on without it. */
      readonly otherwise?: (task: SeenTask) => ToolResult;
    };

/** A tool as clients list it. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
  readonly icons?: JsonValue;
  readonly _meta?: JsonObject;
}

/**
 * A task as a client sees it. Where its client knows of no subtasks, one from which a graph grew comes with those that
 * wait for an answer below it; its own status is what it is without them (S-13). Where its client does, it comes with
 * the subtasks that it made.
 */
export interface SeenTask extends Task {
  /** Descendants with open questions, oldest first, the first 1,000 of them. Absent where there can be none. */
  readonly below?: readonly Task[];
  /** The ids of its subtasks, oldest first, the first 100 of them (S-2). Absent where it made none. */
  readonly children?: readonly string[];
}

/** Hears of later and later states of a task. */
export type OnTask = (task: Task) => void;

/** The commands that only clients give that know the extension `dev.errand/tasks`; each on tasks of the principal alone. */
export interface Control {
  /** Resolves with the task as it is then; one that has ended, or was paused, stays as it is. On disk when it resolves. */
  pause(principal: Principal, taskId: string, reason?: string): Promise<SeenTask>;
  resume(principal: Principal, taskId: string): Promise<SeenTask>;
  /** Rejects where the task has ended: nobody would read the message. */
  steer(principal: Principal, taskId: string, message: JsonValue): Promise<SeenTask>;
  /** A task and its descendants, 1,000 at most. */
  graph(principal: Principal, taskId: string): Promise<TaskGraph>;
  /** The log of a task above the number `after`, at most `limit` lines. */
  events(principal: Principal, taskId: string, after: number, limit: number): Promise<EventPage>;
  /** Rejects with `anonymous` where nobody knows who the principal is. */
  list(principal: Principal, options: ListOptions): Promise<TaskPage>;
}

/** The commands on tasks. Knows no wire. Every method may reject with an `RpcError`. */
export interface Engine {
  /** The tools as a client lists them that takes tasks, or does not, in the order in which they were registered. */
  tools(takesTasks: boolean): readonly ListedTool[];
  hasTool(name: string): boolean;
  /** `undefined` where there is no such tool of ours. */
  taskUse(name: string): TaskUse | undefined;
  /** `onTask` hears how the work of a call goes on that is held; it must not throw. */
  call(call: ToolCall, caller: Caller, onTask?: OnTask): Promise<CallAnswer>;
  /**
   * A task of this principal, as a client sees it that knows of subtasks, or does not. Rejects with `taskNotFound` for
   * unknown and foreign ids alike.
   */
  read(principal: Principal, taskId: string, knowsSubtasks?: boolean): Promise<SeenTask>;
  /**
   * Answers open questions of a task, and of those below it under their path (`chunk-3/approve`); unknown and answered
   * keys are ignored, and one answer that does not fit refuses all. On disk when it resolves.
   */
  answer(principal: Principal, taskId: string, responses: Readonly<Record<string, unknown>>): Promise<Task>;
  /**
   * Takes back an open question of a task, or of one below it under its path, because its client cannot answer it.
   * The handler hears of it as `InputWithdrawn`. On disk when it resolves.
   */
  decline(principal: Principal, taskId: string, key: string): Promise<void>;
  /** The live tasks of a principal that were born in a session, latest first: of the first 1,000 that it has. */
  bornIn(principal: Principal, session: string): Promise<readonly Task[]>;
  /** Calls `listener` when another process may have made tasks. Returns how to stop. */
  onForeignTasks(listener: () => void): () => void;
  /** Ends a task and all below it as cancelled, but for what has ended. On disk when it resolves. */
  cancel(principal: Principal, taskId: string): Promise<Task>;
  /**
   * Calls `listener` with the latest state of a task after each commit that changed what can be seen of it.
   * Returns how to stop.
   */
  watch(taskId: string, listener: (task: SeenTask) => void, knowsSubtasks?: boolean): () => void;
  /** For clients that know our extension. */
  readonly control: Control;
}
