import type { JsonObject, JsonValue } from '../json.ts';
import type { InputCapabilities, InputRequest, InputResponse } from '../task/input.ts';
import type { Principal } from '../task/principal.ts';
import type { Task, ToolResult } from '../task/task.ts';

/** Who calls. */
export interface Caller {
  readonly principal: Principal;
  /** What the caller may, where tokens are checked. */
  readonly scopes?: readonly string[];
  /** Aborted when the client went away; that ends a call, and never a task. */
  readonly signal: AbortSignal;
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
}

/** How a call is answered. */
export type CallAnswer =
  | { readonly kind: 'result'; readonly result: ToolResult }
  | { readonly kind: 'task'; readonly task: Task }
  /** The call must be made again, with answers to these questions and with the state. */
  | {
      readonly kind: 'input';
      readonly requests: Readonly<Record<string, InputRequest>>;
      readonly requestState: string;
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
 * A task as a client sees it. One from which a graph grew comes with those that wait for an answer below it, for
 * clients that know of no subtasks; its own status is what it is without them (S-13).
 */
export interface SeenTask extends Task {
  /** Descendants with open questions, oldest first, the first 1,000 of them. Absent where there can be none. */
  readonly below?: readonly Task[];
}

/** The commands on tasks. Knows no wire. Every method may reject with an `RpcError`. */
export interface Engine {
  /** The tools, in the order in which they were registered. */
  tools(): readonly ListedTool[];
  hasTool(name: string): boolean;
  call(call: ToolCall, caller: Caller): Promise<CallAnswer>;
  /** A task of this principal. Rejects with `taskNotFound` for unknown and foreign ids alike. */
  read(principal: Principal, taskId: string): Promise<SeenTask>;
  /**
   * Answers open questions of a task, and of those below it under their path (`chunk-3/approve`); unknown and answered
   * keys are ignored, and one answer that does not fit refuses all. On disk when it resolves.
   */
  answer(principal: Principal, taskId: string, responses: Readonly<Record<string, unknown>>): Promise<Task>;
  /** Ends a task and all below it as cancelled, but for what has ended. On disk when it resolves. */
  cancel(principal: Principal, taskId: string): Promise<Task>;
  /**
   * Calls `listener` with the latest state of a task after each commit that changed what can be seen of it.
   * Returns how to stop.
   */
  watch(taskId: string, listener: (task: SeenTask) => void): () => void;
}
