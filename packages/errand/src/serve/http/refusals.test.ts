import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LIST, raw, servedHttp, textOf } from '../../../test/raw-http.ts';

const BODY = JSON.stringify(LIST);
const HEAD = textOf({}, BODY).slice(0, -BODY.length);

/** The status line and the body of the only response in a text. */
function answerIn(text: string): { status: number; body: unknown } {
  const [head = '', body = '', ...more] = text.split('\r\n\r\n');
  expect(more).toEqual([]);
  expect(head.toLowerCase()).toContain('\r\ncontent-type: application/json');
  return { status: Number(head.split(' ')[1]), body: JSON.parse(body) };
}

describe('what is no HTTP request is answered with an error that a client can read', () => {
  it.each([
    ['bytes that are no HTTP', 'hello\r\n\r\n', 400],
    ['a header without a name', `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n: x\r\n\r\n`, 400],
    ['no Host', HEAD.replace('host: 127.0.0.1\r\n', '') + BODY, 400],
    ['two lengths', HEAD.replace('\r\n', '\r\ncontent-length: 3\r\n') + BODY, 400],
    ['a length that is none', HEAD.replace(/content-length: \d+/, 'content-length: x') + BODY, 400],
    ['a broken chunk', HEAD.replace(/content-length: \d+/, 'transfer-encoding: chunked') + 'zz\r\n', 400],
    ['headers of 20 KB', HEAD.replace('\r\n', `\r\nx-long: ${'x'.repeat(20_000)}\r\n`) + BODY, 431],
    ['an expectation that nobody can meet', HEAD.replace('\r\n', '\r\nexpect: rain\r\n') + BODY, 417],
  ])('%s', async (_, text, status) => {
    const { http } = await servedHttp();
    const answer = answerIn(await raw(http.port, text));
    expect(answer).toEqual({
      status,
      body: { jsonrpc: '2.0', error: { code: -32600, message: expect.stringMatching(/^Invalid request/) } },
    });
  });

  it('a body that breaks off when its sender has said that nothing more comes', async () => {
    const { http } = await servedHttp();
    const socket = connect({ port: http.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.end(HEAD + BODY.slice(0, 20));
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    expect(answerIn(text).status).toBe(400);
  });

  it('but never in the middle of another answer', async () => {
    const { engine, http } = await servedHttp();
    const { id } = engine.commit('task-1', { principal: 'anonymous' });
    const listen = JSON.stringify({
      ...LIST,
      method: 'subscriptions/listen',
      params: { ...LIST.params, notifications: { taskIds: [id] } },
    });
    const socket = connect(http.port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk))).on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(textOf({ 'mcp-method': 'subscriptions/listen', connection: 'keep-alive' }, listen));
    await expect.poll(() => text).toContain('notifications/tasks');
    socket.write('hello\r\n\r\n');
    await closed;
    await delay(20);
    expect(text).not.toContain('-32600');
    expect(engine.watching()).toBe(0);
  });
});
