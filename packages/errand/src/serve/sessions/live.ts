import type { SessionDialect } from '../../dialect.ts';
import type { Engine, SeenTask } from '../../engine/engine.ts';
import { ErrandError } from '../../errors.ts';
import type { RequestId } from '../../jsonrpc.ts';
import type { Principal } from '../../task/principal.ts';
import type { Backend } from '../backend.ts';
import type { Pipe } from '../exchange.ts';
import { Asking } from './asking.ts';
import { Following, type FollowOptions } from './following.ts';
import { createHosting, type Settle } from './hosting.ts';
import { TaskQuestions } from './questions.ts';
import { bestOf, EventStream, type Outlet } from './streams.ts';
import type { StreamPurpose, Tokens } from './token.ts';

/** One session, as this server speaks with its client. */
export interface Session {
  /** Names it; `undefined` where the client sends each request without one. */
  readonly key: string | undefined;
  readonly principal: Principal;
  readonly dialect: SessionDialect;
}

export interface LiveParts {
  readonly engine: Engine;
  readonly tokens: Pick<Tokens, 'stream'>;
  readonly backend: Backend | undefined;
  readonly pipe?: Pipe | undefined;
}

/** How long a stream that was cut off can be gone on with, and what its request began is not given up, in ms. */
export const RESUMABLE_MS = 5 * 60_000;

/** How long it is remembered what a client wants to hear of the backend, while it is not there to hear, in ms. */
const SUBSCRIBED_MS = 3_600_000;

/** So many streams of a session that are over can still be read again. */
const KEPT_STREAMS = 32;

/** So many tasks of a session are followed at once, beside those whose results are waited for. */
const FOLLOWED = 1000;

/**
 * What this server keeps of a session while it hears of it: its streams, the requests under way, and what its client was
 * asked. Nothing of it is needed again after a restart: what is open follows from the tasks.
 */
export class Live {
  readonly session: Session;
  readonly asking = new Asking();
  readonly #parts: LiveParts;
  readonly #streams = new Map<EventStream, Opened>();
  /** Where anything may be sent, latest last. */
  readonly #general: Outlet[];
  /** The streams on which the result of a task is waited for. */
  readonly #results = new Map<string, EventStream[]>();
  readonly #requests = new Map<RequestId, AbortController>();
  /** Aborted when the server closes: what waits for the client goes on without it. */
  readonly #closing = new AbortController();
  readonly #following = new Map<string, Following>();
  #waits = 0;
  /** Has the client say by and by what it answers by a task of its own. */
  readonly settle: Settle;
  /** The resources of the backend that the client wants to hear of. */
  readonly #resources = new Set<string>();
  /** From which level on the client wants to hear what the backend logs. */
  logLevel: string | undefined;
  #stopChanges: (() => void) | undefined;
  #touchedAt = performance.now();

  constructor(session: Session, parts: LiveParts) {
    this.session = session;
    this.#parts = parts;
    this.#general = parts.pipe ? [pipeOutlet(parts.pipe)] : [];
    this.settle = createHosting(this.asking, session.dialect.follows, () => this.outlet());
    if (parts.pipe) this.#hearChanges();
  }

  /** The newest way on which anything may be sent. */
  outlet(taskId?: string): Outlet | undefined {
    const results = taskId === undefined ? undefined : this.#results.get(taskId);
    return bestOf([...this.#general, ...(results ?? [])]);
  }

  /** Whether there is a way to the client beside the answers to its requests. */
  get isListening(): boolean {
    return this.outlet() !== undefined;
  }

  /** Whether nothing of it is in use, and was not for long. */
  isIdle(now: number): boolean {
    const patience = this.#resources.size > 0 || this.logLevel !== undefined ? SUBSCRIBED_MS : RESUMABLE_MS;
    return this.#touchedAt < now - patience && this.#requests.size === 0 && !this.#general.some(isOpen);
  }

  /** Whether its client can come back to a stream. */
  get isResumable(): boolean {
    return this.session.key !== undefined && this.#parts.pipe === undefined;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** How many streams and waits it holds open. */
  get load(): number {
    return this.#general.filter(isOpen).length + this.#waits;
  }

  /** Whether there is nothing in it that could be missed. */
  get isEmpty(): boolean {
    const kept = [this.#streams, this.#requests, this.#following, this.#resources];
    return kept.every(({ size }) => size === 0) && this.logLevel === undefined;
  }

  touch(): void {
    this.#touchedAt = performance.now();
  }

  /** Makes a stream, which its client can come back to; `onForgotten` is called when it has not, and no longer can. */
  open(purpose: StreamPurpose, onForgotten?: () => void): EventStream {
    const { key = '' } = this.session;
    const stream = new EventStream(
      () => this.#parts.tokens.stream(key, purpose),
      () => this.asking.place(),
    );
    this.#streams.set(stream, { purpose, onForgotten });
    if (purpose.kind === 'any') {
      this.#general.push(stream);
      this.#hearChanges();
    }
    if (purpose.kind === 'task') {
      this.#results.set(purpose.taskId, [...(this.#results.get(purpose.taskId) ?? []), stream]);
    }
    return stream;
  }

  stream(token: string): EventStream | undefined {
    return [...this.#streams.keys()].find((stream) => stream.isTold && stream.token === token);
  }

  /** Forgets a stream that nobody was told of. */
  discard(stream: EventStream): void {
    stream.end();
    this.#forget(stream);
  }

  /** Forgets what nobody came back to in time. */
  sweep(now: number): void {
    for (const [stream, { onForgotten }] of this.#streams) {
      if (!stream.isForgotten(now - RESUMABLE_MS)) continue;
      stream.end();
      this.#forget(stream);
      onForgotten?.();
    }
    const over = [...this.#streams.keys()].filter(({ isOver }) => isOver);
    for (const stream of over.slice(0, Math.max(0, over.length - KEPT_STREAMS))) this.#forget(stream);
  }

  /** A request is under way until `done` is called; `cancel` ends it before. `waits`: it may take for ever. */
  begin(id: RequestId, waits: boolean): { readonly signal: AbortSignal; done(): void; abort(reason?: unknown): void } {
    const controller = new AbortController();
    this.#requests.set(id, controller);
    if (waits) this.#waits += 1;
    return {
      signal: controller.signal,
      abort: (reason) => controller.abort(reason),
      done: () => {
        if (this.#requests.get(id) === controller) this.#requests.delete(id);
        if (waits) this.#waits -= 1;
        this.touch();
        // Nobody comes back to what one request lived in.
        if (!this.isResumable && this.#parts.pipe === undefined) this.#stopFollowing();
      },
    };
  }

  /** Takes a request back; never a task that it made (CASES 22, L-27). */
  cancel(id: RequestId): void {
    this.#requests.get(id)?.abort();
  }

  /** Tells the client of a task from now on. */
  follow(taskId: string, options: FollowOptions = {}): Following {
    const known = this.#following.get(taskId);
    if (known) return known;
    const { engine } = this.#parts;
    const { principal, dialect, key } = this.session;
    const outlet = (): Outlet | undefined => this.outlet(taskId);
    const questions = dialect.asks === 'by request' ? this.questions(outlet, true) : undefined;
    const onEnd = (): void => void this.#following.delete(taskId);
    const following = new Following(
      { engine, principal, dialect, session: key, taskId, questions, outlet, onEnd },
      options,
    );
    this.#following.set(taskId, following);
    return following;
  }

  /** Tells the client of a task that it made or read, and so was told of, where there is a way to. */
  notice(told: SeenTask): void {
    if (this.isListening && this.#following.size < FOLLOWED) this.follow(told.id, { told });
  }

  /** Tells the client of the tasks that were made in its session. */
  async recall(tell: boolean): Promise<void> {
    const { key, principal } = this.session;
    if (key === undefined) return;
    for (const { id } of (await this.#parts.engine.bornIn(principal, key)).slice(0, FOLLOWED))
      this.follow(id, { tell });
  }

  /** Puts what a task asks to the client; `visible`: as its own questions. */
  questions(outlet: () => Outlet | undefined, visible: boolean): TaskQuestions {
    const { engine } = this.#parts;
    const { principal, dialect } = this.session;
    const { asking, settle } = this;
    return new TaskQuestions({ engine, principal, dialect, asking, outlet, visible, settle });
  }

  /** Tells the client of changes of a resource of the backend, or no longer. */
  followResource(uri: string, on: boolean): void {
    if (on && this.#resources.size >= FOLLOWED && !this.#resources.has(uri)) {
      throw new ErrandError('overloaded', `a session hears of ${FOLLOWED} resources at most`);
    }
    if (on) this.#resources.add(uri);
    else this.#resources.delete(uri);
    this.#hearChanges();
  }

  /** Tells the client what the backend says has changed, as long as there is a way: without one nobody would hear. */
  #hearChanges(): void {
    this.#stopChanges?.();
    this.#stopChanges = undefined;
    if (!this.isListening) return;
    const watch = this.#parts.backend?.watch(
      {
        toolsListChanged: true,
        promptsListChanged: true,
        resourcesListChanged: true,
        resourceSubscriptions: [...this.#resources],
      },
      (change) => {
        this.outlet()?.send(change, JSON.stringify([change.method, change.params?.uri]));
      },
    );
    this.#stopChanges = watch && (() => watch.stop());
  }

  /** Ends the streams on which something may come one day; who can come back to them does so elsewhere. */
  drain(reason: ErrandError): void {
    this.#closing.abort(reason);
    this.#stopChanges?.();
    for (const stream of [...this.#results.values()].flat()) if (stream.isTold) stream.end();
    for (const following of this.#following.values()) following.giveUp(reason);
    this.#following.clear();
    for (const outlet of this.#general) if (outlet instanceof EventStream) outlet.end();
  }

  /** Ends all streams and requests; `reason` is what they are told. */
  end(reason: ErrandError): void {
    this.#stopChanges?.();
    for (const controller of this.#requests.values()) controller.abort(reason);
    this.#stopFollowing();
    for (const stream of this.#streams.keys()) stream.end();
  }

  #stopFollowing(): void {
    for (const following of this.#following.values()) following.stop();
    this.#following.clear();
  }

  #forget(stream: EventStream): void {
    const purpose = this.#streams.get(stream)?.purpose;
    this.#streams.delete(stream);
    if (purpose?.kind === 'any') {
      this.#general.splice(this.#general.indexOf(stream), 1);
      this.#hearChanges();
    }
    if (purpose?.kind === 'task') {
      const left = this.#results.get(purpose.taskId)!.filter((other) => other !== stream);
      if (left.length > 0) this.#results.set(purpose.taskId, left);
      else this.#results.delete(purpose.taskId);
    }
  }
}

/** What is known of a stream beside what is on it. */
interface Opened {
  readonly purpose: StreamPurpose;
  readonly onForgotten: (() => void) | undefined;
}

function isOpen({ state }: Outlet): boolean {
  return state === 'open';
}

function pipeOutlet(pipe: Pipe): Outlet {
  return {
    get state() {
      return pipe.closed.aborted ? 'lost' : 'open';
    },
    send(message) {
      pipe.send(message);
      return () => false;
    },
  };
}
