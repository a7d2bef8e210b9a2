import { expect } from 'vitest';
import type { JsonObject } from '../src/json.ts';
import type { JsonRpcMessage, JsonRpcRequest } from '../src/jsonrpc.ts';
import type { Exchange } from '../src/serve/exchange.ts';
import { LOCAL } from '../src/task/principal.ts';
import type { Principal } from '../src/task/principal.ts';
import { frame, headersOf, TASK_CLIENT } from './fixtures/frames.ts';
import { assertValidFrame } from './wire-schemas.ts';
import type { Loose } from './wire-schemas.ts';

export interface AskOptions {
  /** Default: a client that takes tasks and can be asked everything. */
  readonly capabilities?: JsonObject;
  /** Headers that differ from what the frame asks for; `undefined` leaves one out, `null` asks as on stdio. */
  readonly headers?: Readonly<Record<string, string | undefined>> | null;
  readonly principal?: Principal;
  readonly signal?: AbortSignal;
}

/** One answer, flat: what tests look at. */
export interface Answer {
  readonly status: number;
  readonly result?: Record<string, Loose>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Loose };
}

let lastId = 0;

/** Asks an exchange as an HTTP client would, and checks the answer by the published schemas. */
export async function ask(
  exchange: Exchange,
  method: string,
  params: JsonObject = {},
  options: AskOptions = {},
): Promise<Answer> {
  return send(exchange, frame(++lastId, method, params, options.capabilities ?? TASK_CLIENT), options);
}

/** Sends a frame as it is, and checks its one answer. */
export async function send(exchange: Exchange, message: unknown, options: AskOptions = {}): Promise<Answer> {
  const reply = await exchange(inbound(message, options));
  if (reply.kind !== 'response') throw new Error(`the answer is ${reply.kind}`);
  const request = message as Partial<JsonRpcRequest>;
  assertValidFrame(reply.body, { method: request.method ?? '', id: request.id });
  return { status: reply.status, ...(reply.body as object) };
}

/** Opens a subscription; each message is checked as it comes. */
export async function listen(
  exchange: Exchange,
  notifications: JsonObject,
  options: AskOptions & { readonly id?: string | number } = {},
) {
  const { id = ++lastId, capabilities = TASK_CLIENT } = options;
  const request = frame(id, 'subscriptions/listen', { notifications }, capabilities);
  const reply = await exchange(inbound(request, options));
  if (reply.kind !== 'stream') throw new Error(`the answer is ${JSON.stringify(reply)}`);
  const iterator = reply.messages[Symbol.asyncIterator]();
  return {
    id,
    /** The next message, `undefined` at the end. */
    async next(): Promise<Loose> {
      const { done, value } = await iterator.next();
      if (done) return undefined;
      assertValidFrame(value, request);
      return value;
    },
    /** All that is left. */
    async rest(): Promise<Loose[]> {
      const messages: JsonRpcMessage[] = [];
      for (let message = await this.next(); message !== undefined; message = await this.next()) messages.push(message);
      return messages;
    },
  };
}

function inbound(message: unknown, { headers, principal = LOCAL, signal = new AbortController().signal }: AskOptions) {
  if (headers === null) return { message, principal, signal };
  const all: Record<string, string | undefined> = { ...headersOf(message as JsonRpcRequest), ...headers };
  return { message, principal, signal, header: (name: string) => all[name] };
}

/** That an answer is an error of this code, under this HTTP status. */
export function expectError(answer: Answer, code: number, status: number): void {
  expect({ code: answer.error?.code, status: answer.status }, JSON.stringify(answer)).toEqual({ code, status });
}
