import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { CallAnswer } from '../src/engine/engine.ts';
import type { Exchange } from '../src/serve/exchange.ts';
import { createFront } from '../src/serve/front.ts';
import { serveHttp } from '../src/serve/http.ts';
import type { HttpOptions, HttpServing } from '../src/serve/http.ts';
import { principalKey } from '../src/task/principal.ts';
import type { Principal } from '../src/task/principal.ts';
import { frame, headersOf, TASK_CLIENT } from './fixtures/frames.ts';
import { wireClient } from './fixtures/wire.ts';
import { scriptedEngine, type MadeCall } from './scripted-engine.ts';

export const alice: Principal = { kind: 'user', issuer: 'i', subject: 'alice' };
/** What makes a task one of the anonymous. */
export const anonymous = { principal: principalKey({ kind: 'anonymous' }) };

/** Serves an exchange until the test ends. */
export async function serving(exchange: Exchange, options: HttpOptions = {}): Promise<HttpServing> {
  const http = await serveHttp(exchange, { port: 0, ...options });
  onTestFinished(() => http.close());
  return http;
}

/** Serves a scripted engine, with one tool named `work`, until the test ends. */
export async function servedHttp(
  options: HttpOptions = {},
  answer?: (call: MadeCall) => CallAnswer | Promise<CallAnswer>,
) {
  const engine = scriptedEngine([{ name: 'work', inputSchema: { type: 'object' } }], answer);
  const front = createFront({ engine, info: { name: 'ours', version: '1' }, log: pino({ level: 'silent' }) });
  const http = await serving(front, options);
  return { engine, front, http, client: wireClient(http.url) };
}

/** Sends bytes as they are, and gives back all that comes until the server closes. */
export async function raw(port: number, text: string, host = '127.0.0.1'): Promise<string> {
  const socket = connect(port, host);
  socket.write(text);
  let received = '';
  socket.on('data', (chunk) => (received += String(chunk)));
  socket.on('error', () => {});
  await once(socket, 'close');
  return received;
}

export const LIST = frame(1, 'tools/list', {}, TASK_CLIENT);

/** A whole request as text. */
export function textOf(headers: Record<string, string>, body: string, line = 'POST /mcp HTTP/1.1'): string {
  const all = {
    ...headersOf(LIST),
    host: '127.0.0.1',
    connection: 'close',
    'content-length': `${Buffer.byteLength(body)}`,
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [line, ...lines, '', body].join('\r\n');
}

/** Posts a body as it is. */
export async function post(url: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const response = await fetch(url, { method: 'POST', headers: { ...headersOf(LIST), ...headers }, body });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: text === '' ? undefined : JSON.parse(text),
  };
}
