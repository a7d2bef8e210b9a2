import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { Command, Dialect, ServerInfo } from '../dialect.ts';
import { META } from '../dialects/2026-07-28/envelope.ts';
import { createDialect20260728 } from '../dialects/2026-07-28/index.ts';
import type { Engine } from '../engine/engine.ts';
import { ErrandError, ERRORS, RpcError, toRpcError } from '../errors.ts';
import { isObject } from '../json.ts';
import type { JsonObject } from '../json.ts';
import { asMessage, errorResponse, isRequest, readableId } from '../jsonrpc.ts';
import type { JsonRpcMessage, JsonRpcRequest, JsonRpcResponse } from '../jsonrpc.ts';
import type { Backend } from './backend.ts';
import { answerControl } from './control.ts';
import type { Exchange, Inbound, Reply, SessionDoor } from './exchange.ts';
import { answerHeld, type Answer } from './held.ts';
import { heldProgress } from './held/progress.ts';
import { createSessions } from './sessions.ts';
import { createTokens, SESSION_MS, type Tokens } from './sessions/token.ts';
import { createSubscriptions } from './subscriptions.ts';

export interface FrontOptions {
  readonly engine: Engine;
  readonly info: ServerInfo;
  /** Answers what is not ours. Without one such requests are -32601. */
  readonly backend?: Backend;
  readonly log: Logger;
  /** How many subscriptions, and how many streams of sessions, may be open at once. Default 1024. */
  readonly maxSubscriptions?: number;
  /** Makes what clients of older revisions carry. Default: as long as the process lives. */
  readonly tokens?: () => Promise<Tokens>;
}

/** The exchange that all transports share. */
export interface Front extends Exchange {
  readonly sessions: SessionDoor;
  /** Ends every open subscription in good order, and opens no more. */
  drain(): void;
}

/**
 * Decodes what clients send, runs it on the engine, and encodes the answers. A request that names its revision speaks
 * for itself, and nothing is kept of it (N-2); what is left is of the revisions that have sessions (N-1, N-3).
 */
export function createFront(options: FrontOptions): Front {
  const { engine, info, backend, log, maxSubscriptions = 1024, tokens = ownTokens() } = options;
  const sessions = createSessions({ engine, info, backend, log, tokens, maxStreams: maxSubscriptions });
  const dialect = createDialect20260728({ info, engine, backed: backend !== undefined });
  const subscriptions = createSubscriptions(engine, backend, maxSubscriptions);

  function exchange(inbound: Inbound): Promise<Reply> {
    if (!namesRevision(inbound.message) && sessions.owns(inbound.message, inbound)) return sessions.exchange(inbound);
    return answer(inbound);
  }

  async function answer(inbound: Inbound): Promise<Reply> {
    try {
      const message = asMessage(inbound.message);
      // A client of this revision has nothing to notify a server of; taking a request back is the transport's matter.
      if (!isRequest(message)) return ACCEPTED;
      return await run(dialect.decode(message, inbound.header), message, inbound);
    } catch (thrown) {
      return refuse(thrown, inbound);
    }
  }

  async function run(command: Command, request: JsonRpcRequest, inbound: Inbound): Promise<Reply> {
    const { principal } = inbound;
    const complete = (result: JsonObject): Answer => ({
      kind: 'response',
      status: 200,
      body: { jsonrpc: '2.0', id: request.id, result },
    });
    switch (command.kind) {
      case 'read':
        return complete(dialect.read(await engine.read(principal, command.taskId, command.extended), command.extended));
      case 'call':
        if (!engine.hasTool(command.call.tool))
          return backend ? pass(backend, inbound) : unknownTool(command.call.tool);
        if (!command.call.takesTasks) return hold(command, inbound, complete);
        return complete(dialect.called(await engine.call(command.call, inbound), command.extended));
      case 'answer':
        return complete(dialect.answered(await engine.answer(principal, command.taskId, command.responses)));
      case 'cancel':
        return complete(dialect.cancelled(await engine.cancel(principal, command.taskId)));
      case 'listen': {
        const { taskIds, changes, extended } = command;
        const { signal } = inbound;
        return {
          kind: 'stream',
          messages: await subscriptions.open(
            { id: request.id, principal, taskIds, changes, extended, signal },
            dialect.listen,
          ),
        };
      }
      case 'list':
        // Ours are all on the first page; every later one is the backend's.
        return complete(
          dialect.listed(
            command.cursor === undefined ? engine.tools(command.takesTasks) : [],
            await ask(inbound, command.cursor !== undefined),
          ),
        );
      case 'discover':
        return complete(dialect.discovered(await ask(inbound, false)));
      case 'control':
        return complete(await answerControl(command.request, principal, engine.control, dialect.control));
      case 'foreign':
        return pass(backend!, inbound);
    }
  }

  /** A client that takes no tasks waits for the result of its call itself, and that may take long. */
  function hold(
    { call, extended, progressToken }: Extract<Command, { kind: 'call' }>,
    inbound: Inbound,
    complete: (result: JsonObject) => Answer,
  ): Promise<Reply> {
    const progress = progressToken === undefined ? undefined : heldProgress(progressToken, dialect.progress);
    return answerHeld(inbound, progress, async (onTask) => {
      try {
        return complete(dialect.called(await engine.call(call, inbound, onTask), extended));
      } catch (thrown) {
        return refuse(thrown, inbound);
      }
    });
  }

  /** What the backend answers to the same request, to be merged. One that has no such list has nothing to add. */
  async function ask(inbound: Inbound, required: boolean): Promise<JsonObject | undefined> {
    const reply = await backend?.exchange(inbound);
    const response = reply && (await responseOf(reply));
    if (response === undefined) return undefined;
    if ('result' in response.body) return response.body.result;
    const { code, message, data } = response.body.error;
    if (!required && code === ERRORS.methodNotFound.code) return undefined;
    throw new RpcError(code, message, data, response.status);
  }

  async function pass({ exchange }: Backend, inbound: Inbound): Promise<Reply> {
    const reply = await exchange(inbound);
    if (reply.kind === 'response') return { ...reply, body: named(reply.body, dialect) };
    return reply.kind === 'stream' ? { kind: 'stream', messages: namedAll(reply.messages, dialect) } : reply;
  }

  function refuse(thrown: unknown, inbound: Inbound): Answer {
    if (!(thrown instanceof RpcError)) {
      // Whoever took the request back made the rest of it fail, and waits for no answer.
      if (inbound.signal.aborted) return ACCEPTED;
      log.error({ err: thrown }, 'a request failed');
    }
    // What is wrong with the store, and what to do about it, is the operator's to know.
    if (thrown instanceof ErrandError && thrown.kind === 'storeAway') log.error({ err: thrown }, 'a request failed');
    const error = toRpcError(thrown);
    return { kind: 'response', status: error.status, body: errorResponse(readableId(inbound.message), error) };
  }

  return Object.assign(exchange, {
    sessions,
    drain() {
      subscriptions.drain();
      sessions.drain();
    },
  });
}

/** Whether a message says by itself of which revision it is. */
function namesRevision(message: unknown): boolean {
  const params = (message as JsonRpcRequest | null)?.params;
  const meta = isObject(params) ? params._meta : undefined;
  return isObject(meta) && meta[META.protocolVersion] !== undefined;
}

/** What nobody needs to read again but this process. */
function ownTokens(): () => Promise<Tokens> {
  const tokens = createTokens(randomBytes(32), SESSION_MS, Date.now);
  return async () => tokens;
}

const ACCEPTED: Answer = { kind: 'accepted' };

function unknownTool(name: string): never {
  throw new ErrandError('unknownTool', `Unknown tool: ${name}`);
}

/** The response in a reply. What a streamed one is preceded by has no place in a merged answer. */
async function responseOf(reply: Reply): Promise<{ status: number; body: JsonRpcResponse } | undefined> {
  if (reply.kind === 'response') return reply;
  if (reply.kind !== 'stream') return undefined;
  let last: JsonRpcMessage | undefined;
  for await (const message of reply.messages) last = message;
  return last !== undefined && !('method' in last) ? { status: 200, body: last } : undefined;
}

/** A message of the backend under the name of this server. */
function named<M extends JsonRpcMessage>(message: M, dialect: Dialect): M {
  return 'result' in message ? { ...message, result: dialect.passed(message.result) } : message;
}

async function* namedAll(messages: AsyncIterable<JsonRpcMessage>, dialect: Dialect): AsyncGenerator<JsonRpcMessage> {
  for await (const message of messages) yield named(message, dialect);
}
