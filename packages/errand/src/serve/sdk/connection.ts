import type {
  JSONRPCMessage,
  MessageExtraInfo,
  Server,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { ServerInfo } from '../../dialect.ts';
import type { Engine } from '../../engine/engine.ts';
import { toRpcError } from '../../errors.ts';
import { isObject } from '../../json.ts';
import { errorResponse } from '../../jsonrpc.ts';
import type { Principal } from '../../task/principal.ts';
import type { JsonRpcMessage, JsonRpcRequest, Reply, RequestId } from '../exchange.ts';
import { createFront, type Front } from '../front.ts';
import { REVISION } from './adopt.ts';
import { Changes } from './changes.ts';
import { interpose, type Interposed } from './interpose.ts';
import { isResponse, Link } from './link.ts';

/** What a connection serves beside what its server does. */
export interface Served {
  readonly engine: Engine;
  readonly info: ServerInfo;
  readonly log: Logger;
  /** Who sent a message, by what the host knows of it. May throw. */
  readonly principal: (extra: MessageExtraInfo | undefined) => Principal;
}

/** What goes to the front, beside calls of our tools. For the first two it asks the server for its part. */
const OURS = new Set([
  'server/discover',
  'tools/list',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'subscriptions/listen',
  'errand/pause',
  'errand/resume',
  'errand/steer',
  'errand/graph',
  'errand/events',
  'errand/list',
]);

/** A request that the front is answering. */
interface Answering {
  readonly extra: MessageExtraInfo | undefined;
  readonly controller: AbortController;
}

/**
 * One connection of an attached server: takes out of it what is ours. All else passes at once,
 * since the SDK sees by that whether an error is one of the wire and so has an HTTP status.
 */
export class Connection {
  readonly #server: Server;
  readonly #served: Served;
  readonly #host: Transport;
  readonly #between: Interposed;
  readonly #front: Front;
  readonly #changes = new Changes();
  readonly #link = new Link((message, extra) => this.#between.deliver(message, extra));
  readonly #answering = new Map<RequestId, Answering>();

  constructor(server: Server, host: Transport, served: Served) {
    this.#server = server;
    this.#served = served;
    this.#host = host;
    this.#between = interpose(host, {
      receive: (message, extra) => this.#receive(message, extra),
      send: (message, options) => this.#send(message, options),
      closed: () => this.#closed(),
    });
    this.#front = createFront({
      ...served,
      backend: {
        exchange: ({ message, signal }) => {
          const request = message as JsonRpcRequest;
          return this.#link.request(request, signal, this.#answering.get(request.id)?.extra);
        },
        watch: (filter, listener) => this.#changes.watch(filter, server.getCapabilities(), listener),
      },
    });
  }

  /** What the server connects to in place of the host's transport. */
  get transport(): Transport {
    return this.#between.transport;
  }

  #receive(message: JsonRpcMessage, extra?: MessageExtraInfo): void {
    if (this.#isOurs(message)) void this.#answer(message, extra);
    else if (!this.#takesBack(message)) this.#between.deliver(message, extra);
  }

  #isOurs(message: JsonRpcMessage): message is JsonRpcRequest {
    if (isResponse(message) || !('id' in message) || this.#server.getNegotiatedProtocolVersion() !== REVISION)
      return false;
    if (message.method !== 'tools/call') return OURS.has(message.method);
    const name = isObject(message.params) ? message.params.name : undefined;
    return typeof name === 'string' && this.#served.engine.hasTool(name);
  }

  #takesBack(message: JsonRpcMessage): boolean {
    if (isResponse(message) || message.method !== 'notifications/cancelled') return false;
    const answering = this.#answering.get(message.params?.requestId as RequestId);
    answering?.controller.abort();
    return answering !== undefined;
  }

  async #answer(request: JsonRpcRequest, extra: MessageExtraInfo | undefined): Promise<void> {
    const answering = { extra, controller: new AbortController() };
    const { id } = request;
    this.#answering.set(id, answering);
    try {
      const reply = await this.#ask(request, extra, answering.controller.signal);
      // Nothing is said to a request that was taken back.
      if (reply.kind === 'response' && !answering.controller.signal.aborted)
        await this.#host.send(reply.body as JSONRPCMessage);
      if (reply.kind === 'stream') {
        for await (const message of reply.messages) {
          await this.#host.send(message as JSONRPCMessage, isResponse(message) ? {} : { relatedRequestId: id });
        }
      }
    } catch (err) {
      this.#served.log.error({ err }, 'an answer could not be sent');
    } finally {
      if (this.#answering.get(id) === answering) this.#answering.delete(id);
    }
  }

  async #ask(message: JsonRpcRequest, extra: MessageExtraInfo | undefined, signal: AbortSignal): Promise<Reply> {
    const { log, principal } = this.#served;
    const http = extra?.request;
    try {
      return await this.#front({
        message,
        principal: principal(extra),
        signal,
        ...(http === undefined ? {} : { header: (name) => http.headers.get(name) ?? undefined }),
      });
    } catch (err) {
      log.error({ err }, 'who sent a request is not known');
      const error = toRpcError(err);
      return { kind: 'response', status: error.status, body: errorResponse(message.id, error) };
    }
  }

  async #send(message: JsonRpcMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#link.take(message, options)) return;
    if (!isResponse(message) && !('id' in message)) this.#changes.announce(message);
    await this.#host.send(message as JSONRPCMessage, options);
  }

  #closed(): void {
    for (const { controller } of this.#answering.values()) controller.abort();
    this.#link.close();
  }
}
