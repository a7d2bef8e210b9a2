import type { McpServer } from '@modelcontextprotocol/server';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Logger } from 'pino';
import type { Handler, ToolOptions } from './engine/tool.ts';
import type { HttpOptions, HttpServing } from './serve/http.ts';
import type { StdioOptions, StdioServing } from './serve/stdio.ts';
import type { JsonObject } from './json.ts';
import type { Store } from './store.ts';
import type { Principal } from './task/principal.ts';

export interface ErrandOptions {
  /** Name and version of the server, as clients see them. */
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  /** How to use the server, for the model behind the client. */
  readonly instructions?: string;
  /** Where tasks live. Default `memory()`, which a restart forgets; see `errand/sqlite`. */
  readonly store?: Store;
  /** Makes the SDK server that answers everything that is not a tool of ours: resources, prompts, its own tools. */
  readonly server?: () => McpServer;
  /** How many runs may be busy at once; the others queue, oldest first. Default 64. */
  readonly concurrency?: number;
  /** Seals what clients carry. Needed only where several stores or none should share it; default: the store's own. */
  readonly secret?: string | Uint8Array;
  /** Default: a pino logger on stderr at level `warn`. */
  readonly log?: Logger;
}

/** What a host that keeps its own HTTP server knows of a request. */
export interface FetchFacts {
  /** Who asks. Default: anonymous. */
  readonly principal?: Principal;
}

/** A server whose tool calls become durable tasks. */
export interface Errand {
  /** Registers a tool. Throws where the options contradict each other or the name is taken. */
  tool<S extends StandardSchemaV1>(name: string, options: ToolOptions<S> & { readonly inputSchema: S }, handler: Handler<StandardSchemaV1.InferOutput<S>>): this;
  tool(name: string, options: ToolOptions, handler: Handler<JsonObject>): this;
  /** Serves Streamable HTTP. Resolves when it listens. */
  serve(options?: HttpOptions): Promise<HttpServing>;
  /** Serves stdin and stdout. Resolves when it reads. */
  stdio(options?: StdioOptions): Promise<StdioServing>;
  /** Answers one web-standard request, for hosts that keep their own HTTP server. */
  fetch(request: Request, facts?: FetchFacts): Promise<Response>;
  /** Puts tasks into an SDK server that its owner keeps hosting. Call it before the server connects. */
  attach(server: McpServer): void;
  /** Opens the store and takes up what was left. `serve`, `stdio`, `fetch` and `attach` do it by themselves. */
  start(): Promise<void>;
  /** Tries a held task again. Resolves with whether there was one of that id. */
  retry(taskId: string): Promise<boolean>;
  /** Takes no more calls, lets running steps end (10 s at most), and closes the store. */
  close(): Promise<void>;
}
