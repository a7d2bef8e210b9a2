import type { CallAnswer, Engine, ListedTool, SeenTask, ToolCall } from './engine/engine.ts';
import type { JsonObject } from './json.ts';
import type { JsonRpcNotification, JsonRpcRequest, RequestId } from './jsonrpc.ts';
import type { Task } from './task/task.ts';

/** Reads an HTTP header by its lower-case name. */
export type HeaderReader = (name: string) => string | undefined;

/** What a request asks for, whatever the wire calls it. */
export type Command =
  /** Say what the server is and can do. */
  | { readonly kind: 'discover' }
  | { readonly kind: 'list'; readonly takesTasks: boolean; readonly cursor?: string }
  /** `progressToken`: under what a client wants to hear how a call goes on that is held for it. */
  | { readonly kind: 'call'; readonly call: ToolCall; readonly progressToken?: ProgressToken }
  | { readonly kind: 'read'; readonly taskId: string }
  | { readonly kind: 'answer'; readonly taskId: string; readonly responses: Readonly<Record<string, unknown>> }
  | { readonly kind: 'cancel'; readonly taskId: string }
  /** Hear of changes: of tasks, and of what else (`changes`: the filter as the client wrote it, without the tasks). */
  | { readonly kind: 'listen'; readonly taskIds: readonly string[]; readonly changes: JsonObject }
  /** Nothing of ours: it is for the backend, if there is one. */
  | { readonly kind: 'foreign' };

/** By what a client knows to which of its requests a progress notification belongs. */
export type ProgressToken = string | number;

/** How far a held call is. `progress` is greater in each notification than in the one before. */
export interface ProgressReport {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** Who the server says it is. */
export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  /** How to use the server, for the model behind the client. */
  readonly instructions?: string;
}

/** The server that a dialect speaks for. */
export interface Served {
  readonly info: ServerInfo;
  readonly engine: Pick<Engine, 'tools' | 'hasTool'>;
  /** Whether a backend answers what is not ours. */
  readonly backed: boolean;
}

/** The frames of one subscription; `id` is that of the request that opened it, as the client wrote it. */
export interface ListenFrames {
  /** The first frame: what was granted. */
  acknowledged(id: RequestId, taskIds: readonly string[], changes: JsonObject): JsonRpcNotification;
  /** Where a task stands: the same as what a read of it answers. */
  task(id: RequestId, task: SeenTask): JsonRpcNotification;
  /** A change that the backend told of. */
  change(id: RequestId, notification: JsonRpcNotification): JsonRpcNotification;
  /** The result that ends the subscription in good order. */
  closed(id: RequestId): JsonObject;
}

/**
 * One wire revision: requests to commands, and what the engine answers to results. It knows no
 * transport and keeps no state between requests.
 */
export interface Dialect {
  /** The revision, as clients name it. */
  readonly version: string;
  /**
   * What a request asks for. Throws an `RpcError` where it breaks a rule of the wire; where it
   * breaks several, the one that its reader must mend first. Without `header` nothing is asked of headers.
   */
  decode(request: JsonRpcRequest, header?: HeaderReader): Command;
  /** The result of `discover`. `backend` is what the backend said of itself. */
  discovered(backend?: JsonObject): JsonObject;
  /** The result of `list`: tools of ours, then a page of the backend's list. */
  listed(tools: readonly ListedTool[], backend?: JsonObject): JsonObject;
  /** The result of `call`. */
  called(answer: CallAnswer): JsonObject;
  /** How far a held call is, for a client that asked for it. */
  progress(token: ProgressToken, report: ProgressReport): JsonRpcNotification;
  /** The result of `read`. */
  read(task: SeenTask): JsonObject;
  /** The result of `answer`. */
  answered(task: Task): JsonObject;
  /** The result of `cancel`. */
  cancelled(task: Task): JsonObject;
  /** A result of the backend, as a result of this server. */
  passed(result: JsonObject): JsonObject;
  readonly listen: ListenFrames;
}
