import type { Logger } from 'pino';
import type { ServerInfo, SessionCommand, SessionRevision, Terms } from '../dialect.ts';
import { revision20251125 } from '../dialects/2025-11-25/index.ts';
import { revision202603 } from '../dialects/2026-03/index.ts';
import type { Engine } from '../engine/engine.ts';
import { ErrandError, RpcError, shuttingDown, toRpcError } from '../errors.ts';
import { isObject } from '../json.ts';
import { asMessage, errorResponse, isRequest, isRequestId, isResponse, readableId } from '../jsonrpc.ts';
import type { ClientResponse, JsonRpcRequest } from '../jsonrpc.ts';
import type { Principal } from '../task/principal.ts';
import type { Backend } from './backend.ts';
import type { Inbound, Reply, SessionDoor, Visit } from './exchange.ts';
import type { Answer } from './held.ts';
import { answerCommand } from './sessions/answering.ts';
import { answerOver, type Channel } from './sessions/channel.ts';
import type { Live, Session } from './sessions/live.ts';
import { askBackend } from './sessions/passing.ts';
import { questionOf } from './sessions/asking.ts';
import { answerQuestion } from './sessions/questions.ts';
import { createRegister } from './sessions/register.ts';
import type { StreamPurpose, Tokens } from './sessions/token.ts';

/** The revisions that are agreed on by `initialize`. The last one is offered to whoever asks for one that is not here. */
const REVISIONS: readonly SessionRevision[] = [revision202603, revision20251125];

/** The versions that a request without a session may claim in its header (N-4). */
const ALONE = new Map(REVISIONS.flatMap((revision) => revision.alone.map((version) => [version, revision])));

export interface SessionsParts {
  readonly engine: Engine;
  readonly info: ServerInfo;
  readonly backend: Backend | undefined;
  readonly log: Logger;
  readonly tokens: () => Promise<Tokens>;
  /** How many streams may be open at once. */
  readonly maxStreams: number;
}

/** Serves clients of the revisions that have sessions. */
export interface Sessions extends SessionDoor {
  /** Whether a message is for a session, or is about to open one. */
  owns(message: unknown, inbound: Inbound): boolean;
  /** Answers it. Never rejects. */
  exchange(inbound: Inbound): Promise<Reply>;
  /** Ends every open stream, and every wait, and opens no more. */
  drain(): void;
}

export function createSessions(parts: SessionsParts): Sessions {
  const { engine, info, backend, log } = parts;
  const register = createRegister(parts);
  let draining = false;

  function sessionOf(key: string | undefined, principal: Principal, terms: Terms): Session {
    const revision = REVISIONS.find(({ name }) => name === terms.revision) ?? REVISIONS.at(-1)!;
    // Tasks are listed where callers can be told apart (L-51, N-6).
    const served = { info, engine, backed: backend !== undefined, lists: principal.kind !== 'anonymous' };
    return { key, principal, dialect: revision.speak(served, terms) };
  }

  /** The session of a request, with what is kept of it here. */
  async function liveOf(inbound: Inbound | Visit): Promise<Live> {
    const { header, principal } = inbound;
    if (header === undefined) return register.onPipe((inbound as Inbound).pipe!)!;
    const id = header('mcp-session-id');
    const version = header('mcp-protocol-version');
    if (id === undefined) return register.alone(sessionOf(undefined, principal, termsAlone(version!)));
    const live = await register.find(id, principal, (key, terms) => sessionOf(key, principal, terms));
    const agreed = live.session.dialect.terms.version;
    // One that is left out is what was agreed on.
    if (version !== undefined && version !== agreed) {
      throw new ErrandError('invalidEnvelope', `MCP-Protocol-Version is ${version}, but ${agreed} was agreed on`);
    }
    return live;
  }

  async function exchange(inbound: Inbound): Promise<Reply> {
    let live: Live | undefined;
    try {
      const { message } = inbound;
      if (isObject(message) && message.method === 'initialize') return await initialize(inbound);
      live = await liveOf(inbound);
      live.touch();
      if (isResponse(message)) return await take(live, message);
      const asked = asMessage(message);
      if (!isRequest(asked)) return notified(live, asked.method, asked.params);
      return await answer(live, asked, inbound);
    } catch (thrown) {
      return refusal(thrown, inbound.message);
    } finally {
      if (live) register.release(live);
    }
  }

  async function initialize(inbound: Inbound): Promise<Reply> {
    const request = asMessage(inbound.message);
    if (!isRequest(request)) return { kind: 'accepted' };
    if (draining) throw shuttingDown();
    const { principal, pipe } = inbound;
    const terms = agreed(request);
    const opened = await register.mint(principal, terms);
    const session = sessionOf(opened.key, principal, terms);
    const theirs = await askBackend(
      backend,
      session.dialect,
      { ...request, method: 'server/discover', params: {} },
      inbound,
      false,
    );
    if (pipe) register.piped(session, pipe);
    const result = session.dialect.initialized(theirs);
    return {
      kind: 'response',
      status: 200,
      body: { jsonrpc: '2.0', id: request.id, result },
      ...(!pipe && { session: opened.id }),
    };
  }

  async function answer(live: Live, request: JsonRpcRequest, inbound: Inbound): Promise<Reply> {
    const read = decoded(live, request, inbound);
    if (read instanceof RpcError) return refusal(read, request, 200);
    const command = read;
    const isAboutTask = command.kind === 'result' || command.kind === 'continue';
    const purpose: StreamPurpose = isAboutTask
      ? { kind: 'task', method: request.method, taskId: command.taskId, request: request.id }
      : { kind: 'request', request: request.id };
    if (command.kind === 'result') register.checkRoom();
    return answerOver(live, request, inbound, purpose, (channel) => work(live, request, inbound, channel));

    async function work(live: Live, request: JsonRpcRequest, inbound: Inbound, channel: Channel): Promise<Answer> {
      try {
        const all = { engine, backend, tokens: await parts.tokens() };
        const result = await answerCommand(all, live, command, request, inbound, channel);
        return { kind: 'response', status: 200, body: { jsonrpc: '2.0', id: request.id, result } };
      } catch (thrown) {
        // Whoever took the request back waits for no answer.
        if (channel.signal.aborted && !(channel.signal.reason instanceof ErrandError)) return { kind: 'accepted' };
        return refusal(thrown, request, 200);
      }
    }
  }

  /** Takes the response of a client to a request of ours, whichever server made it. */
  async function take(live: Live, response: ClientResponse): Promise<Reply> {
    const { id } = response;
    const question = questionOf(id);
    try {
      if (live.asking.has(id)) await live.asking.take(response);
      else if (question !== undefined) await answerQuestion(engine, live.session.principal, question, response);
      return { kind: 'accepted' };
    } catch (thrown) {
      return refusal(thrown, undefined, 400);
    }
  }

  function notified(live: Live, method: string, params: unknown): Reply {
    const id = isObject(params) ? params.requestId : undefined;
    if (method === 'notifications/cancelled' && isRequestId(id)) live.cancel(id);
    return { kind: 'accepted' };
  }

  async function listen(visit: Visit): Promise<Reply> {
    try {
      if (draining) throw shuttingDown();
      const live = await liveOf(visit);
      const [, token, number] = /^([\w-]+)\.(\d+)$/.exec(visit.header?.('last-event-id') ?? '') ?? [];
      const known = token === undefined ? undefined : live.stream(token);
      if (known !== undefined) {
        // There is nothing left on it, and a client that gets nothing comes again at once.
        if (known.isOver && known.isRead && Number(number) >= known.count) throw noStream();
        return { kind: 'events', events: known.read(Number(number), visit.signal) };
      }
      register.checkRoom();
      const purpose = token === undefined ? undefined : (await parts.tokens()).openStream(live.session.key!, token);
      return await goOn(live, purpose ?? { kind: 'any' }, visit, purpose !== undefined);
    } catch (thrown) {
      return refusal(thrown, undefined);
    }
  }

  /** Opens a stream; `again`: in place of one that nobody here remembers. */
  async function goOn(live: Live, purpose: StreamPurpose, visit: Visit, again: boolean): Promise<Reply> {
    if (purpose.kind === 'any') {
      const events = live.open(purpose).read(undefined, visit.signal);
      live.asking.place();
      await live.recall(again);
      return { kind: 'events', events };
    }
    if (purpose.kind === 'request') {
      const lost = new ErrandError(
        'interrupted',
        'the server that worked on this request is gone, and its answer with it: make it again',
      );
      const stream = live.open(purpose);
      stream.end(errorResponse(purpose.request, lost));
      return { kind: 'events', events: stream.read(undefined, visit.signal) };
    }
    // A wait is as good here as it was there.
    const request: JsonRpcRequest = {
      jsonrpc: '2.0',
      id: purpose.request,
      method: purpose.method,
      params: { taskId: purpose.taskId },
    };
    const { principal, scopes, header, signal } = visit;
    const inbound = { message: request, principal, signal, ...(scopes && { scopes }), ...(header && { header }) };
    return answer(live, request, inbound);
  }

  async function end(visit: Visit): Promise<Reply> {
    try {
      const live = await liveOf(visit);
      register.end(live);
      return { kind: 'accepted' };
    } catch (thrown) {
      return refusal(thrown, undefined);
    }
  }

  /** Under the `status` of the error, where another is not given: that of a message that was in order is 200. */
  function refusal(thrown: unknown, message: unknown, status?: number): Answer {
    if (!(thrown instanceof RpcError) || (thrown instanceof ErrandError && thrown.kind === 'storeAway')) {
      log.error({ err: thrown }, 'a request failed');
    }
    const error = toRpcError(thrown);
    return { kind: 'response', status: status ?? error.status, body: errorResponse(readableId(message), error) };
  }

  return {
    exchange,
    listen,
    end,
    owns(message, { header, pipe }) {
      if (header === undefined)
        return pipe !== undefined && (isInitialize(message) || register.onPipe(pipe) !== undefined);
      return (
        isInitialize(message) || header('mcp-session-id') !== undefined || ALONE.has(header('mcp-protocol-version')!)
      );
    },
    drain() {
      draining = true;
      register.drain();
    },
  };
}

function decoded({ session }: Live, request: JsonRpcRequest, { header }: Inbound): SessionCommand | RpcError {
  try {
    return session.dialect.decode(request, header);
  } catch (thrown) {
    return toRpcError(thrown);
  }
}

function isInitialize(message: unknown): boolean {
  return isObject(message) && message.method === 'initialize';
}

function agreed({ params = {} }: JsonRpcRequest): Terms {
  for (const revision of REVISIONS) {
    const terms = revision.agree(params);
    if (terms !== undefined) return terms;
  }
  throw new ErrandError('unsupportedVersion', 'Unsupported protocol version');
}

/** What is known of a client that has no session: nothing, so it cannot be asked anything (N-4). */
function termsAlone(version: string): Terms {
  const { name } = ALONE.get(version)!;
  return { version, revision: name, client: { name: 'unknown', version: '0' }, capabilities: {}, hosts: {} };
}

function noStream(): RpcError {
  return new RpcError(-32600, 'There is nothing more to read', undefined, 405);
}
