import type { CallAnswer, Engine, ListedTool, SeenTask, ToolCall } from './engine/engine.ts';
import type { TaskPage } from './engine/commands/operator.ts';
import type { EventPage } from './engine/events.ts';
import type { TaskGraph } from './engine/graph.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { JsonRpcNotification, JsonRpcRequest, RequestId } from './jsonrpc.ts';
import type { ListOptions } from './store.ts';
import type { InputCapabilities, InputRequest } from './task/input.ts';
import type { Task } from './task/task.ts';

/** Reads an HTTP header by its lower-case name. */
export type HeaderReader = (name: string) => string | undefined;

/**
 * What a request asks for, whatever the wire calls it. `extended`: its sender knows our extension `dev.errand/tasks`,
 * and so of subtasks, of pauses and of progress.
 */
export type Command =
  /** Say what the server is and can do. */
  | { readonly kind: 'discover' }
  | { readonly kind: 'list'; readonly takesTasks: boolean; readonly cursor?: string }
  /** `progressToken`: under what a client wants to hear how a call goes on that is held for it. */
  | {
      readonly kind: 'call';
      readonly call: ToolCall;
      readonly extended: boolean;
      readonly progressToken?: ProgressToken;
    }
  | { readonly kind: 'read'; readonly taskId: string; readonly extended: boolean }
  | { readonly kind: 'answer'; readonly taskId: string; readonly responses: Readonly<Record<string, unknown>> }
  | { readonly kind: 'cancel'; readonly taskId: string }
  /** Hear of changes: of tasks, and of what else (`changes`: the filter as the client wrote it, without the tasks). */
  | {
      readonly kind: 'listen';
      readonly taskIds: readonly string[];
      readonly changes: JsonObject;
      readonly extended: boolean;
    }
  | { readonly kind: 'control'; readonly request: ControlRequest }
  /** Nothing of ours: it is for the backend, if there is one. */
  | { readonly kind: 'foreign' };

/** What clients ask for that know our extension. Lists and logs come in pages of `limit`. */
export type ControlRequest =
  | { readonly act: 'pause'; readonly taskId: string; readonly reason?: string }
  | { readonly act: 'resume'; readonly taskId: string }
  | { readonly act: 'steer'; readonly taskId: string; readonly message: JsonValue }
  | { readonly act: 'graph'; readonly taskId: string }
  | { readonly act: 'events'; readonly taskId: string; readonly after: number; readonly limit: number }
  | { readonly act: 'list'; readonly options: ListOptions };

/** What they are answered. */
export interface ControlResults {
  /** Of `pause`, `resume` and `steer`: the task as it is then. */
  task(task: SeenTask): JsonObject;
  graph(graph: TaskGraph): JsonObject;
  events(page: EventPage): JsonObject;
  list(page: TaskPage): JsonObject;
}

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
  task(id: RequestId, task: SeenTask, extended: boolean): JsonRpcNotification;
  /** A change that the backend told of. */
  change(id: RequestId, notification: JsonRpcNotification): JsonRpcNotification;
  /** The result that ends the subscription in good order. */
  closed(id: RequestId): JsonObject;
}

/**
 * A wire revision whose requests speak for themselves: requests to commands, and what the engine answers to results.
 * It knows no transport and keeps no state between requests.
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
  called(answer: CallAnswer, extended: boolean): JsonObject;
  /** How far a held call is, for a client that asked for it. */
  progress(token: ProgressToken, report: ProgressReport): JsonRpcNotification;
  /** The result of `read`. */
  read(task: SeenTask, extended: boolean): JsonObject;
  /** The result of `answer`. */
  answered(task: Task): JsonObject;
  /** The result of `cancel`. */
  cancelled(task: Task): JsonObject;
  /** A result of the backend, as a result of this server. */
  passed(result: JsonObject): JsonObject;
  readonly listen: ListenFrames;
  readonly control: ControlResults;
}

/** What a client and this server agreed on when the client opened a session. The client carries it, sealed. */
export interface Terms {
  /** The revision, as the client is told. */
  readonly version: string;
  /** The name of the revision that is spoken, where that says more: several wires went by one version. */
  readonly revision: string;
  readonly client: { readonly name: string; readonly version: string };
  /** Which questions the client can answer. */
  readonly capabilities: InputCapabilities;
  /** Which of them it can answer by a task of its own (L-53). */
  readonly hosts: { readonly elicitation?: true; readonly sampling?: true };
  /** What of the revision the client understands, where it need not understand all. */
  readonly understands?: readonly string[];
}

/** The server that a session is with. */
export interface SessionServed extends Served {
  readonly engine: Pick<Engine, 'tools' | 'hasTool' | 'taskUse'>;
  /** Whether tasks may be listed for who the client speaks for (L-51). */
  readonly lists: boolean;
}

/** A wire revision that is agreed on by `initialize`. */
export interface SessionRevision {
  readonly name: string;
  /** The versions that requests without a session may claim; most revisions need a session. */
  readonly alone: readonly string[];
  /** The terms that the params of an `initialize` lead to; `undefined` where they ask for another revision. */
  agree(params: JsonObject): Terms | undefined;
  /** Speaks it with one client. */
  speak(served: SessionServed, terms: Terms): SessionDialect;
}

/** What a request of a session asks for. */
export type SessionCommand =
  | Extract<Command, { kind: 'list' | 'call' | 'read' | 'answer' | 'cancel' | 'foreign' }>
  | { readonly kind: 'ping' }
  /** The result of a task, as soon as it is there. */
  | { readonly kind: 'result'; readonly taskId: string }
  /** Move a task on: with answers to what it asks, if there are any; and see where it stands. */
  | { readonly kind: 'continue'; readonly taskId: string; readonly responses?: Readonly<Record<string, unknown>> }
  /** The tasks of the caller; `cursor` is what the page before ended with, as it was given out. */
  | { readonly kind: 'tasks'; readonly cursor?: string }
  /** Hear when a resource of the backend changes, or no longer. */
  | { readonly kind: 'follow'; readonly uri: string; readonly on: boolean }
  /** Hear what the backend logs, from a level on. */
  | { readonly kind: 'logs'; readonly level: string };

/**
 * A wire revision as one session speaks it. Its server may send requests and notifications of its own, on whatever
 * stream there is.
 */
export interface SessionDialect {
  readonly terms: Terms;
  /** How its client is asked before its call is answered: by requests of ours, or by a result, upon which it calls again. */
  readonly asks: 'by request' | 'by result';
  /** How a task of the client is followed: by reading it, and then asking for its result, or by continuing it (L-53, K-21). */
  readonly follows: 'get' | 'continue';
  /** Whether the client knows of subtasks. */
  readonly knowsSubtasks: boolean;
  /** What a request asks for. Throws an `RpcError` where it breaks a rule of the wire. */
  decode(request: JsonRpcRequest, header?: HeaderReader): SessionCommand;
  /** The result of `initialize`. `backend` is what the backend said of itself. */
  initialized(backend?: JsonObject): JsonObject;
  listed(tools: readonly ListedTool[], backend?: JsonObject): JsonObject;
  called(answer: CallAnswer, call: ToolCall): JsonObject;
  /** How far a call is, or the task that was made of it. */
  progress(token: ProgressToken, report: ProgressReport, task?: Task): JsonRpcNotification;
  read(task: SeenTask): JsonObject;
  cancelled(task: Task): JsonObject;
  /** The result of `result`, where the revision has that: what a task came to. Throws the `RpcError` that it came to. */
  result?(task: SeenTask): JsonObject;
  /** The results of `continue` and `answer`, where the revision has those. */
  continued?(task: SeenTask): JsonObject;
  answered?(task: Task): JsonObject;
  tasks(tasks: readonly Task[], nextCursor?: string): JsonObject;
  /** Where a task stands, for a client that did not ask. */
  status(task: SeenTask): JsonRpcNotification;
  /** What of a task its client is told without being asked, as a text to compare. */
  news(task: SeenTask): string;
  /** A question, or another message of ours, as it goes to the client; with the task that it belongs to, if there is one it can see. */
  mark(params: JsonObject, task?: Task): JsonObject;
  /** The params of a question, which goes out under an id: as the client takes it, by a task of its own where it can. */
  question(request: InputRequest, id: string, task?: Task): JsonObject;
  /** A result of the backend, which is of revision 2026-07-28. */
  passed(result: JsonObject): JsonObject;
}
