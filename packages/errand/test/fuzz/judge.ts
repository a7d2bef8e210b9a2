import { expect } from 'vitest';
import { ERRORS } from '../../src/errors.ts';
import { isObject } from '../../src/json.ts';
import { isRequestId } from '../../src/jsonrpc.ts';
import { assertValidFrame } from '../wire-schemas.ts';
import type { Loose } from '../wire-schemas.ts';
import type { RawResponse } from './connection.ts';

/** What was sent, as far as it matters for what may come back. */
export interface Sent {
  /** The bytes of the body, or of the line. */
  readonly body: Buffer;
  /** Nothing about it was changed: it must not be refused as broken. */
  readonly pristine: boolean;
  /** HTTP itself finds nothing wrong with it. */
  readonly whole: boolean;
  /** The method and the path, where they are not those of the endpoint. */
  readonly line?: { readonly method?: string | undefined; readonly target?: string | undefined };
}

/** What the tool `broken` fails with. */
const BROKEN = -31500;

/** Which code may come under which HTTP status. No input may make the server fail: -32603 is not among them. */
const CODES = new Set([
  ...Object.values(ERRORS)
    .filter(({ code }) => code !== ERRORS.internal.code)
    .map(({ code, status }) => `${status} ${code}`),
  `200 ${BROKEN}`,
  // How a call came out travels in band, also where an answer to it, or its result, is too large.
  `200 ${ERRORS.tooLarge.code}`,
  // What HTTP itself refuses (serve/http/gate.ts).
  ...[403, 405, 408, 415, 417, 431].map((status) => `${status} -32600`),
]);

/** Of what it is asked, the SDK server behind us answers bad params with -32603: that is its own way. */
const OURS = /^(server|tasks|subscriptions)\//;
const OUR_TOOLS = new Set(['echo', 'note', 'ask', 'nap', 'broken', 'rounds', 'routed']);

function isForSdk(message: Loose): boolean {
  const method: unknown = message?.method;
  if (method === 'tools/call') return !OUR_TOOLS.has(message.params?.name);
  return typeof method === 'string' && !OURS.test(method);
}

/** The statuses of refusals that come before a body is looked at. */
const UNREAD = new Set([403, 405, 408, 413, 415, 417, 431]);

/** What a client may get for a request in good order: that a task or method is not there, or what it must declare. */
const GOOD_ANSWERS = new Set([-32602, -32601, -32021, BROKEN]);

/** The JSON that bytes are, `undefined` where they are none. */
export function jsonOf(bytes: Buffer): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)) };
  } catch {
    return undefined;
  }
}

/** The id that an answer must carry. */
export function idOf(message: unknown): string | number | undefined {
  if (!isObject(message) || !('method' in message) || !isRequestId(message['id'])) return undefined;
  // JSON has a -0, which comes back as 0.
  return message['id'] === 0 ? 0 : message['id'];
}

/** Fails unless a response is one that this request may get. Gives the name under which it is counted. */
export function judge(sent: Sent, { status, headers, body }: RawResponse): string {
  const type = headers['content-type'];
  if (status === 202) {
    expect(body).toBe('');
    expect(idOf(jsonOf(sent.body)?.value)).toBeUndefined();
    return '202 accepted';
  }
  if (type === 'text/event-stream') return judgeStream(sent, status, body);
  expect(type).toBe('application/json');
  if (sent.line?.method === 'HEAD') return `${status} without a body`;
  expect(body).not.toContain('\n');
  const frame = JSON.parse(body);
  if (status === 404 && frame.jsonrpc === undefined) {
    expect(sent.line?.target).not.toBe('/mcp');
    return '404 at another path';
  }
  if (status === 405) expect(headers['allow']).toBe('POST');
  return `${status} ${judgeFrame(sent, frame, status)}`;
}

/** Fails unless a frame is one that this message may get. On stdio there is no status. */
export function judgeFrame({ body, pristine, whole }: Sent, frame: Loose, status?: number): string {
  const json = jsonOf(body);
  const message = json?.value as Loose;
  const id = idOf(message);
  const inSession = mayBeOfSession(message);
  if (inSession && frame.error === undefined) {
    expect(frame).toMatchObject({ jsonrpc: '2.0', id, result: expect.any(Object) });
    return 'of a session';
  }
  assertValidFrame(frame, { method: typeof message?.method === 'string' ? message.method : '', id });
  if (frame.error === undefined) {
    expect(frame.id).toBe(id);
    if (status !== undefined) expect(status).toBe(200);
    if (message.method === 'tools/call' && message.params.name === 'echo') assertEchoed(message, frame.result);
    return frame.result.resultType;
  }
  const { code } = frame.error;
  if (code === ERRORS.internal.code && isForSdk(message)) return `${code} of the SDK server`;
  if (status !== undefined && !(inSession && status === 200)) expect(CODES).toContain(`${status} ${code}`);
  else expect([...CODES].map((each) => Number(each.split(' ')[1]))).toContain(code);
  const unread = !whole || (status !== undefined && UNREAD.has(status));
  if (!unread) {
    expect(frame.id).toBe(id);
    if (json === undefined) expect(code).toBe(-32700);
    else expect(code).not.toBe(-32700);
  }
  if (pristine) expect(GOOD_ANSWERS).toContain(code);
  return `${code}`;
}

/** A request that does not name its revision is of one with sessions, if its sender has one, or opens it. */
function mayBeOfSession(message: Loose): boolean {
  if (typeof message?.method !== 'string') return false;
  const meta: unknown = message.params?._meta;
  return !isObject(meta) || meta['io.modelcontextprotocol/protocolVersion'] === undefined;
}

/** What was echoed is what was sent, however odd its letters are. */
function assertEchoed(message: Loose, result: Loose): void {
  if (result.resultType !== 'complete' || result.isError === true) return;
  expect(result.content[0].text).toBe(message.params.arguments.text);
}

function judgeStream(sent: Sent, status: number, body: string): string {
  expect(status).toBe(200);
  const events = body.split('\n\n').slice(0, -1);
  const frames = events.flatMap((event) =>
    event.startsWith('event: message\ndata: ') ? [JSON.parse(event.slice(21))] : [],
  );
  for (const frame of frames) assertValidFrame(frame, jsonOf(sent.body)!.value as Loose);
  if (frames.length > 0) expect(frames[0].method).toBe('notifications/subscriptions/acknowledged');
  return '200 stream';
}
