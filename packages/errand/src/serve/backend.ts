import type { JsonObject } from '../json.ts';
import type { Exchange, JsonRpcNotification } from './exchange.ts';

/** What a backend lets a subscription hear of. */
export interface Watch {
  /** The part of the filter that it grants: kinds that it never announces are left out. */
  readonly granted: JsonObject;
  stop(): void;
}

/**
 * Whoever answers what is not ours, behind the front: resources, prompts, tools of an SDK server.
 *
 * The front has checked the shape, the envelope and the headers of what it passes on. It merges
 * the results of `server/discover` and `tools/list` into ours, and stamps its own name on every
 * result. It never passes on `subscriptions/listen`, nor anything under `tasks/`.
 */
export interface Backend {
  /** Answers one message, a notification with `accepted`. Like every exchange it never rejects. */
  readonly exchange: Exchange;
  /**
   * Calls `listener` with each change that the filter asks for (`toolsListChanged`,
   * `resourceSubscriptions`, ...). The front stamps the notifications with the subscription.
   */
  watch(filter: JsonObject, listener: (notification: JsonRpcNotification) => void): Watch;
}
