import type { JsonRpcMessage } from '../../jsonrpc.ts';

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
