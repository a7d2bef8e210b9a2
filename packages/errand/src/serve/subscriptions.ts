import type { ListenFrames } from '../dialect.ts';
import type { Engine, SeenTask } from '../engine/engine.ts';
import { ErrandError, shuttingDown } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { JsonRpcMessage, JsonRpcNotification, RequestId } from '../jsonrpc.ts';
import { principalKey, type Principal } from '../task/principal.ts';
import { isTerminal } from '../task/task.ts';
import type { Backend } from './backend.ts';

/** When who found no place should try again, in ms. */
const RETRY_AFTER = 1000;

/** What a client wants to hear of. */
export interface ListenRequest {
  readonly id: RequestId;
  readonly principal: Principal;
  readonly taskIds: readonly string[];
  /** The filter for what is not a task. */
  readonly changes: JsonObject;
  /** Whether the client knows our extension. */
  readonly extended: boolean;
  readonly signal: AbortSignal;
}

export interface Subscriptions {
  /** Opens a subscription; its messages end when there is nothing more to hear, or the client went away. */
  open(request: ListenRequest, frames: ListenFrames): Promise<AsyncIterable<JsonRpcMessage>>;
  /** Ends every open one in good order, and opens no more. */
  drain(): void;
}

/**
 * Keeps the subscriptions of all clients, at most `limit` at once. A principal may hold as many as it leaves free for
 * others: half of them where it is alone, and a share that shrinks as more come.
 */
export function createSubscriptions(engine: Engine, backend: Backend | undefined, limit: number): Subscriptions {
  const open = new Set<Subscription>();
  /** How many each principal holds. */
  const held = new Map<string, number>();
  let draining = false;

  /** Takes a place; returns how to give it back. Throws where there is none. */
  function takePlace(principal: string): () => void {
    const own = held.get(principal) ?? 0;
    const free = limit - open.size;
    if (free <= 0 || (own > 0 && own >= free)) {
      const whose = free <= 0 ? 'subscriptions are open' : `of ${open.size} open subscriptions are yours`;
      throw new ErrandError('overloaded', `${free <= 0 ? open.size : own} ${whose}; end some, or try again later`, {
        data: { retryable: true, retryAfterMs: RETRY_AFTER },
      });
    }
    held.set(principal, own + 1);
    return () => {
      const left = held.get(principal)! - 1;
      if (left > 0) held.set(principal, left);
      else held.delete(principal);
    };
  }

  return {
    async open(request, frames) {
      if (draining) throw shuttingDown();
      const giveBack = takePlace(principalKey(request.principal));
      const subscription = new Subscription(request, frames, () => {
        open.delete(subscription);
        giveBack();
      });
      open.add(subscription);
      try {
        await subscription.start(engine, backend);
      } catch (error) {
        subscription.end();
        throw error;
      }
      if (draining) subscription.drain();
      return subscription.messages();
    },
    drain() {
      draining = true;
      for (const subscription of open) subscription.drain();
    },
  };
}

/**
 * One subscription. It holds the latest unsent state of each task, so that a slow reader costs
 * no more memory than its tasks do; intermediate states may merge, the terminal one is never lost.
 */
class Subscription {
  readonly #request: ListenRequest;
  readonly #frames: ListenFrames;
  readonly #onEnd: () => void;
  /** Tasks that are not known to have ended, and how to stop watching each. */
  readonly #watched = new Map<string, () => void>();
  readonly #latest = new Map<string, SeenTask>();
  readonly #unsentTasks = new Set<string>();
  readonly #unsentChanges = new Map<string, JsonRpcNotification>();
  #granted: JsonObject = {};
  #stopChanges: (() => void) | undefined;
  #state: 'open' | 'draining' | 'ended' = 'open';
  #wake: (() => void) | undefined;

  constructor(request: ListenRequest, frames: ListenFrames, onEnd: () => void) {
    this.#request = request;
    this.#frames = frames;
    this.#onEnd = onEnd;
    request.signal.addEventListener('abort', this.end);
  }

  /** Finds out what can be heard. Each task is watched before it is read, so that no change falls in between. */
  async start(engine: Engine, backend: Backend | undefined): Promise<void> {
    const { principal, taskIds, changes, extended, signal } = this.#request;
    if (signal.aborted) return this.end();
    const saw = (task: SeenTask): void => this.#saw(task);
    for (const id of taskIds) this.#watched.set(id, engine.watch(id, saw, extended));
    await Promise.all(
      taskIds.map(async (id) => {
        try {
          saw(await engine.read(principal, id, extended));
        } catch (error) {
          if (!(error instanceof ErrandError && error.kind === 'taskNotFound')) throw error;
          // Unknown, or somebody else's, whose state must not get out.
          this.#forget(id);
          this.#latest.delete(id);
          this.#unsentTasks.delete(id);
        }
      }),
    );
    if (this.#state === 'ended' || !backend || Object.keys(changes).length === 0) return;
    const watch = backend.watch(changes, (notification) => this.#heard(notification));
    this.#granted = watch.granted;
    this.#stopChanges = () => watch.stop();
  }

  async *messages(): AsyncGenerator<JsonRpcMessage, void, undefined> {
    const { id, taskIds } = this.#request;
    try {
      if (this.#ended()) return;
      yield this.#frames.acknowledged(
        id,
        taskIds.filter((taskId) => this.#latest.has(taskId)),
        this.#granted,
      );
      for (;;) {
        if (this.#ended()) return;
        const message = this.#next();
        if (message) yield message;
        else if (this.#isOver()) break;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
      yield { jsonrpc: '2.0', id, result: this.#frames.closed(id) };
    } finally {
      this.end();
    }
  }

  drain(): void {
    if (this.#state === 'open') this.#state = 'draining';
    this.#wake?.();
  }

  /** Lets go of everything; nothing is sent any more. */
  readonly end = (): void => {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#request.signal.removeEventListener('abort', this.end);
    for (const stop of this.#watched.values()) stop();
    this.#watched.clear();
    this.#stopChanges?.();
    this.#onEnd();
    this.#wake?.();
  };

  #ended(): boolean {
    return this.#state === 'ended';
  }

  /** There is nothing more to hear once every task has ended, unless the backend has something to tell. */
  #isOver(): boolean {
    return this.#state === 'draining' || (this.#watched.size === 0 && Object.keys(this.#granted).length === 0);
  }

  #next(): JsonRpcMessage | undefined {
    for (const id of this.#unsentTasks) {
      const task = this.#latest.get(id)!;
      this.#unsentTasks.delete(id);
      // What has ended is told once, so that its result need not be kept.
      if (isTerminal(task)) this.#latest.delete(id);
      return this.#frames.task(this.#request.id, task, this.#request.extended);
    }
    for (const [key, notification] of this.#unsentChanges) {
      this.#unsentChanges.delete(key);
      return this.#frames.change(this.#request.id, notification);
    }
    return undefined;
  }

  #saw(task: SeenTask): void {
    if (!this.#watched.has(task.id)) return;
    const before = this.#latest.get(task.id);
    // What goes with a task may change without it.
    const isAlone = task.below === undefined && task.children === undefined;
    if (before && (before.version > task.version || (before.version === task.version && isAlone))) return;
    this.#latest.set(task.id, task);
    if (isTerminal(task)) this.#forget(task.id);
    if (before && looksTheSame(before, task)) return;
    this.#unsentTasks.add(task.id);
    this.#wake?.();
  }

  #heard(notification: JsonRpcNotification): void {
    // A list that changed twice before anyone could hear of it has changed.
    this.#unsentChanges.set(JSON.stringify([notification.method, notification.params?.uri]), notification);
    this.#wake?.();
  }

  #forget(id: string): void {
    this.#watched.get(id)?.();
    this.#watched.delete(id);
  }
}

/** Whether only what clients cannot see has changed. When in doubt a state is told again. */
function looksTheSame(a: SeenTask, b: SeenTask): boolean {
  return (
    a.status === b.status &&
    a.lastUpdatedAt === b.lastUpdatedAt &&
    a.statusMessage === b.statusMessage &&
    a.inputs === b.inputs &&
    a.below === b.below &&
    a.children?.length === b.children?.length
  );
}
