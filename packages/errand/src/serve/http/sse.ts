import type { JsonRpcMessage } from '../../jsonrpc.ts';
import type { Reply, StreamEvent } from '../exchange.ts';

/** A stream without traffic says this often that it lives, before proxies give it up. */
export const KEEP_ALIVE_MS = 15_000;

export const KEEP_ALIVE = ': keep-alive\n\n';

/** No proxy may hold a stream back or rewrite it. */
export const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** A message as one server-sent event. JSON has no line breaks, so one data line carries it. */
export function toEvent(message: JsonRpcMessage): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

/** An event that can be named when its stream is gone on with; one without a message gives only its name. */
function toNamedEvent({ id, message }: StreamEvent): string {
  return message === undefined ? `id: ${id}\ndata: \n\n` : `id: ${id}\n${toEvent(message)}`;
}

/** The events of a reply, as they come. */
export async function* eventsOf(reply: Extract<Reply, { kind: 'stream' | 'events' }>): AsyncGenerator<string> {
  if (reply.kind === 'stream') for await (const message of reply.messages) yield toEvent(message);
  else for await (const event of reply.events) yield toNamedEvent(event);
}
