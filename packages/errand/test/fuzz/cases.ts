import fc from 'fast-check';
import { isObject } from '../../src/json.ts';
import type { JsonObject, JsonValue } from '../../src/json.ts';
import type { JsonRpcRequest } from '../../src/jsonrpc.ts';
import { frame, headersOf } from '../fixtures/frames.ts';
import { byteEdits, withByteEdits, type ByteEdit } from './bytes.ts';
import { carriages, type Carriage } from './carriage.ts';
import { edited, edits, type Edit } from './edits.ts';
import { jsonOf } from './judge.ts';
import { templates, type Template } from './requests.ts';

/** A valid request, and what is done to it on its way. */
export interface Case {
  readonly template: Template;
  readonly edits: readonly Edit[];
  readonly bytes: readonly ByteEdit[];
}

/** Many stay valid in most parts: what is broken everywhere is refused at the first of them. */
const some = <T>(arbitrary: fc.Arbitrary<T>, valid: number): fc.Arbitrary<readonly T[]> =>
  fc.oneof({ weight: valid, arbitrary: fc.constant([]) }, fc.array(arbitrary, { minLength: 1, maxLength: 3 }));

const message = { template: templates, edits: some(edits, 1), bytes: some(byteEdits, 3) };

export const lineCases: fc.Arbitrary<Case> = fc.record(message);

export interface HttpCase extends Case {
  /** Whether the headers go with the message before it was edited. */
  readonly stale: boolean;
  readonly carriage: Carriage;
}

export const httpCases: fc.Arbitrary<HttpCase> = fc.record({
  ...message,
  stale: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  carriage: carriages,
});

/** What the server gave out lately, for requests that refer to it. */
export class Pool {
  readonly #tasks: string[] = [];
  readonly #states: string[] = [];
  #lastId = 0;

  /** Notes what an answer gives out. */
  note(body: string): void {
    for (const [, id] of body.matchAll(/"taskId":"([\w-]{30})"/g)) keep(this.#tasks, id!);
    for (const [, state] of body.matchAll(/"requestState":"([\w.-]+)"/g)) keep(this.#states, state!);
  }

  /** A template as a request of its own. */
  request({ method, params, capabilities }: Template): JsonRpcRequest {
    const id = ++this.#lastId;
    const given = new Map([
      ['$task', this.#tasks[id % Math.max(1, this.#tasks.length)]],
      ['$state', this.#states[id % Math.max(1, this.#states.length)]],
    ]);
    return frame(id, method, filled(params, given) as JsonObject, capabilities);
  }
}

function keep(list: string[], item: string): void {
  if (list.includes(item)) return;
  list.push(item);
  if (list.length > 40) list.shift();
}

function filled(value: JsonValue, given: ReadonlyMap<string, string | undefined>): JsonValue {
  if (typeof value === 'string') return given.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => filled(item, given));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, filled(member, given)]));
}

/** The bytes of a message after all that is done to it. */
export function bytesOf({ edits, bytes }: Case, request: JsonRpcRequest): Buffer {
  return withByteEdits(Buffer.from(edited(request, edits), 'utf8'), bytes);
}

/** The headers that an honest client sends with a body. */
export function honestHeaders(body: Buffer, fallback: JsonRpcRequest): Record<string, string> {
  const value = jsonOf(body)?.value;
  const message = isObject(value) && typeof value['method'] === 'string' ? value : fallback;
  const params = isObject(message.params) ? message.params : {};
  const headers = headersOf({ ...fallback, method: message.method as string, params: params as JsonObject });
  const region = isObject(params['arguments']) ? params['arguments']['region'] : undefined;
  const all = { ...headers, ...(typeof region === 'string' && { 'mcp-param-region': region }) };
  return Object.fromEntries(Object.entries(all).map(([name, text]) => [name, headerSafe(text)]));
}

function headerSafe(text: string): string {
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?');
  return plain ? text : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
}
