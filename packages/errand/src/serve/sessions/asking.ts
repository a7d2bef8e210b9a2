import { randomBytes, randomUUID } from 'node:crypto';
import type { JsonObject } from '../../json.ts';
import type { ClientResponse, JsonRpcNotification, JsonRpcResponse, RequestId } from '../../jsonrpc.ts';
import type { Outlet } from './streams.ts';

/** A request of ours to the client, from when it is wanted until it has its response. */
export interface Wanted {
  readonly method: string;
  /** Its params, under the id that it goes out with. */
  readonly params: (id: string) => JsonObject;
  /** The params of the notification that takes it back. */
  readonly takenBack: (params: JsonObject) => JsonObject;
  /** The question that it is, where it is one of a task. */
  readonly question?: TaskQuestion;
  /** Where it could go now. */
  readonly outlet: () => Outlet | undefined;
  /** Takes the response; a rejection says that it is none to this request. */
  readonly take: (response: JsonRpcResponse) => Promise<void>;
}

/** A question of a task. */
export interface TaskQuestion {
  readonly taskId: string;
  readonly key: string;
}

/** So often a client is asked that gives responses which are none. */
const ATTEMPTS = 3;

/**
 * The requests of ours that wait for their responses, each on one stream (L-31). One whose stream was lost goes out
 * again on the next one there is, under another id: ids are not used twice.
 */
export class Asking {
  readonly #asked = new Map<RequestId, Asked>();
  readonly #all = new Set<Asked>();

  /** Puts a request to the client as soon as it can be reached. Returns how to take it back. */
  ask(wanted: Wanted): () => void {
    const asked: Asked = { wanted, ids: [], attempts: 0 };
    this.#all.add(asked);
    this.#place(asked);
    return () => this.#takeBack(asked);
  }

  /** Whether a response is to a request that is remembered here. */
  has(id: RequestId): boolean {
    return this.#asked.has(id);
  }

  /** Takes a response. Rejects where it is none to its request, which then is made again. */
  async take(response: ClientResponse): Promise<void> {
    const asked = this.#asked.get(response.id)!;
    this.#forget(asked);
    delete asked.sent;
    try {
      await asked.wanted.take(response);
    } catch (error) {
      asked.attempts += 1;
      if (asked.attempts < ATTEMPTS) {
        this.#all.add(asked);
        this.#place(asked);
      }
      throw error;
    }
  }

  /** Finds a way for what has none, or one that is open for what waits for its client to come back. */
  place(): void {
    for (const asked of this.#all) {
      const state = asked.sent?.outlet.state ?? 'lost';
      if (state === 'lost' || (state === 'away' && asked.wanted.outlet()?.state === 'open')) this.#place(asked);
    }
  }

  #place(asked: Asked): void {
    const { wanted, sent } = asked;
    const outlet = wanted.outlet();
    if (outlet === undefined) return;
    sent?.retract();
    const id = wanted.question ? questionId(wanted.question) : randomUUID();
    const retract = outlet.send({ jsonrpc: '2.0', id, method: wanted.method, params: wanted.params(id) });
    // A response to an earlier one still counts.
    this.#asked.set(id, asked);
    asked.ids.push(id);
    asked.sent = { id, outlet, retract };
  }

  #takeBack(asked: Asked): void {
    // One whose response is being looked at is not made again, whatever that is.
    asked.attempts = ATTEMPTS;
    if (!this.#all.has(asked)) return;
    this.#forget(asked);
    const { sent, wanted } = asked;
    if (sent === undefined || sent.retract()) return;
    const outlet = sent.outlet.state === 'open' ? sent.outlet : wanted.outlet();
    outlet?.send(takenBack(sent.id, wanted.takenBack({})));
  }

  #forget(asked: Asked): void {
    this.#all.delete(asked);
    for (const id of asked.ids.splice(0)) this.#asked.delete(id);
  }
}

interface Asked {
  readonly wanted: Wanted;
  /** The ids that it went out under. */
  readonly ids: string[];
  /** How it went out last. */
  sent?: { readonly id: string; readonly outlet: Outlet; readonly retract: () => boolean };
  attempts: number;
}

function takenBack(requestId: string, params: JsonObject): JsonRpcNotification {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, ...params } };
}

/**
 * The id of a question: any server can tell from it what was asked, so any can take the response. Nobody can guess it
 * who does not know the id of the task.
 */
function questionId({ taskId, key }: TaskQuestion): string {
  return `${taskId}:${randomBytes(6).toString('base64url')}:${key}`;
}

/** The question that an id is of; `undefined` where it is of none. */
export function questionOf(id: unknown): TaskQuestion | undefined {
  if (typeof id !== 'string') return undefined;
  const [, taskId, key] = /^([^:]+):[^:]+:(.*)$/s.exec(id) ?? [];
  return taskId === undefined ? undefined : { taskId, key: key! };
}
