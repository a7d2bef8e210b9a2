import type { ServerCapabilities } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../json.ts';
import type { Watch } from '../backend.ts';
import type { JsonRpcNotification } from '../exchange.ts';

type Listener = (notification: JsonRpcNotification) => void;

/** Tells subscriptions what an SDK server says has changed. */
export class Changes {
  readonly #watching = new Map<Listener, JsonObject>();

  watch(filter: JsonObject, capabilities: ServerCapabilities, listener: Listener): Watch {
    const granted = grant(filter, capabilities);
    // A function of its own, so that one listener may watch twice.
    const heard: Listener = (notification) => listener(notification);
    if (Object.keys(granted).length > 0) this.#watching.set(heard, granted);
    return { granted, stop: () => void this.#watching.delete(heard) };
  }

  /** Passes a notification on to whoever asked for its kind. */
  announce(notification: JsonRpcNotification): void {
    for (const [listener, granted] of this.#watching) if (wants(granted, notification)) listener(notification);
  }
}

/** The part of a filter that a server of these capabilities will ever announce. */
function grant(filter: JsonObject, { tools, prompts, resources }: ServerCapabilities): JsonObject {
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } = filter;
  const uris = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : [];
  return {
    ...(toolsListChanged === true && tools?.listChanged ? { toolsListChanged } : {}),
    ...(promptsListChanged === true && prompts?.listChanged ? { promptsListChanged } : {}),
    ...(resourcesListChanged === true && resources?.listChanged ? { resourcesListChanged } : {}),
    ...(uris.length > 0 && resources?.subscribe ? { resourceSubscriptions: uris } : {}),
  };
}

function wants(granted: JsonObject, { method, params }: JsonRpcNotification): boolean {
  switch (method) {
    case 'notifications/tools/list_changed':
      return granted.toolsListChanged === true;
    case 'notifications/prompts/list_changed':
      return granted.promptsListChanged === true;
    case 'notifications/resources/list_changed':
      return granted.resourcesListChanged === true;
    case 'notifications/resources/updated': {
      const uris = granted.resourceSubscriptions;
      return Array.isArray(uris) && params?.uri !== undefined && uris.includes(params.uri);
    }
    default:
      return false;
  }
}
