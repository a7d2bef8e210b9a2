import { expect, it } from 'vitest';
import type { JsonRpcMessage, JsonRpcRequest, Reply } from '../exchange.ts';
import { Link } from './link.ts';

const CALL: JsonRpcRequest = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait' } };
const PROGRESS: JsonRpcMessage = {
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: 1, progress: 1 },
};

/** A link to a server that keeps what it is given, and a request on it. */
function linked() {
  const given: JsonRpcMessage[] = [];
  const link = new Link((message) => given.push(message));
  const abort = new AbortController();
  const reply = link.request(CALL, abort.signal);
  const { id } = given[0] as JsonRpcRequest;
  return { link, given, abort, reply, id };
}

function messagesOf(reply: Reply): AsyncIterator<JsonRpcMessage> {
  if (reply.kind !== 'stream') throw new Error(`No stream: ${JSON.stringify(reply)}`);
  return reply.messages[Symbol.asyncIterator]();
}

it('whoever stops reading a stream takes the request back', async () => {
  const { link, given, reply, id } = linked();
  expect(link.take(PROGRESS, { relatedRequestId: id })).toBe(true);
  const messages = messagesOf(await reply);
  expect(await messages.next()).toEqual({ done: false, value: PROGRESS });
  await messages.return!();
  expect(given[1]).toEqual({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
});

it('a stream ends without a response when its request is taken back', async () => {
  const { link, abort, reply, id } = linked();
  link.take(PROGRESS, { relatedRequestId: id });
  const messages = messagesOf(await reply);
  await messages.next();
  abort.abort();
  expect(await messages.next()).toMatchObject({ done: true });
});

it('what the server still says of a request that was taken back goes nowhere', async () => {
  const { link, abort, reply, id } = linked();
  abort.abort();
  expect(await reply).toEqual({ kind: 'accepted' });
  expect(link.take(PROGRESS, { relatedRequestId: id })).toBe(true);
  expect(link.take({ jsonrpc: '2.0', id, result: {} })).toBe(true);
});

it('what belongs to no request of the link is left to others', () => {
  const { link } = linked();
  expect(link.take({ jsonrpc: '2.0', id: CALL.id, result: {} })).toBe(false);
  expect(link.take(PROGRESS, { relatedRequestId: CALL.id })).toBe(false);
  expect(link.take({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })).toBe(false);
});

it('a request that was taken back before it was sent is not sent', async () => {
  const given: JsonRpcMessage[] = [];
  const reply = new Link((message) => given.push(message)).request(CALL, AbortSignal.abort());
  expect(await reply).toEqual({ kind: 'accepted' });
  expect(given).toEqual([]);
});
