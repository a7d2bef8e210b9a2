import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { frame, headersOf, TASK_CLIENT } from '../../../test/fixtures/frames.ts';
import { alice, LIST, post, raw, servedHttp, textOf } from '../../../test/raw-http.ts';
import { RpcError } from '../../errors.ts';
import { principalKey } from '../../task/principal.ts';

describe('a body', () => {
  it('that says it is too large is refused unread, and the connection closed', async () => {
    const { http } = await servedHttp({ maxBodyBytes: 1000 });
    const answer = await raw(http.port, textOf({ 'content-length': '1001', connection: 'keep-alive' }, ''));
    expect(answer).toContain('HTTP/1.1 413');
    expect(answer.toLowerCase()).toContain('connection: close');
    expect(answer).toContain('-31001');
  });

  it('that turns out too large is refused as soon as it does', async () => {
    const { http } = await servedHttp({ maxBodyBytes: 1000 });
    const chunk = `3e8\r\n${'x'.repeat(1000)}\r\n`;
    const head = textOf({ 'transfer-encoding': 'chunked', connection: 'keep-alive' }, '').replace(
      /content-length: 0\r\n/,
      '',
    );
    // The body never ends; the answer comes all the same.
    expect(await raw(http.port, head + chunk + chunk)).toContain('HTTP/1.1 413');
  });

  it('of just that size is taken', async () => {
    const body = JSON.stringify(LIST);
    const { http } = await servedHttp({ maxBodyBytes: body.length });
    expect((await post(http.url, body)).status).toBe(200);
    expect((await post(http.url, `${body} `)).status).toBe(413);
  });

  it('may be 4 MiB large, and then reaches a client that sent more', async () => {
    const { http } = await servedHttp();
    const fill = (size: number) =>
      JSON.stringify(frame(1, 'tools/list', { x: '' }, {})).replace('"x":""', `"x":"${'a'.repeat(size)}"`);
    expect((await post(http.url, fill(4 * 1024 * 1024 - 1000))).status).toBe(200);
    expect((await post(http.url, fill(4 * 1024 * 1024))).status).toBe(413);
  });

  it('that is cut off calls nothing and holds nothing up', async () => {
    const failures: unknown[] = [];
    const { http, engine } = await servedHttp({
      principal: (request) => {
        request.on('error', (error: NodeJS.ErrnoException) => failures.push(error.code));
        return alice;
      },
    });
    const socket = connect(http.port, '127.0.0.1');
    socket.write(textOf({ 'content-length': '1000' }, '{"jsonrpc":'));
    await wait(50);
    socket.destroy();
    await vi.waitFor(() => expect(failures).toEqual(['ECONNRESET']));
    const begun = performance.now();
    await http.close();
    expect(performance.now() - begun).toBeLessThan(1000);
    expect(engine.calls).toEqual([]);
  });

  it('may come in pieces that cut characters in two', async () => {
    const { http, engine } = await servedHttp();
    const call = frame(1, 'tools/call', { name: 'work', arguments: { text: '日本語' } }, TASK_CLIENT);
    const text = Buffer.from(textOf(headersOf(call), JSON.stringify(call)));
    const socket = connect(http.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const cut = text.indexOf('本') + 1;
    socket.write(text.subarray(0, cut));
    await wait(20);
    socket.write(text.subarray(cut));
    await once(socket, 'data');
    expect(engine.calls[0]!.arguments).toEqual({ text: '日本語' });
  });
});

describe('the sender', () => {
  const status = async (port: number, headers: Record<string, string>) =>
    /HTTP\/1.1 (\d+)/.exec(await raw(port, textOf(headers, JSON.stringify(LIST))))?.[1];

  it('must use a loopback name, so that no web page can rebind its own to us', async () => {
    const { http } = await servedHttp();
    for (const host of ['127.0.0.1', 'localhost', 'LOCALHOST:80', '[::1]:9', `127.0.0.1:${http.port}`]) {
      expect([host, await status(http.port, { host })]).toEqual([host, '200']);
    }
    for (const host of [
      'evil.example.com',
      'localhost.evil.com',
      '127.0.0.1.evil.com',
      'localhost:80@evil.com',
      '[::1',
      '',
    ]) {
      expect([host, await status(http.port, { host })]).toEqual([host, '403']);
    }
  });

  it('must not be a web page of another origin', async () => {
    const { http } = await servedHttp({ allowedOrigins: ['https://app.example'] });
    for (const origin of ['http://localhost:3000', 'http://127.0.0.1', 'https://app.example']) {
      expect([origin, await status(http.port, { origin })]).toEqual([origin, '200']);
    }
    for (const origin of [
      'https://evil.example.com',
      'null',
      'https://app.example.evil.com',
      'http://app.example',
      '',
    ]) {
      expect([origin, await status(http.port, { origin })]).toEqual([origin, '403']);
    }
  });

  it('may use the names that are allowed', async () => {
    const { http } = await servedHttp({ allowedHosts: ['Tasks.example'] });
    expect(await status(http.port, { host: 'tasks.example:443' })).toBe('200');
    expect(await status(http.port, { host: 'localhost' })).toBe('200');
    expect(await status(http.port, { host: 'other.example' })).toBe('403');
  });

  it('is checked before the path and the method', async () => {
    const { http } = await servedHttp();
    const evil = textOf({ host: 'evil.example' }, '', 'GET / HTTP/1.1');
    expect(await raw(http.port, evil)).toContain('HTTP/1.1 403');
  });

  it('is who `principal` says', async () => {
    const { http, engine, client } = await servedHttp({
      principal: async (request) => {
        if (request.headers.authorization === 'Bearer alice') return alice;
        throw new RpcError(-32600, 'Who are you?', undefined, 401);
      },
    });
    engine.commit('t', { principal: principalKey(alice) });
    const headers = { authorization: 'Bearer alice' };
    expect(await client.send('tasks/get', { taskId: 't' }, { headers })).toMatchObject({ result: { taskId: 't' } });
    expect(await post(http.url, JSON.stringify(LIST))).toMatchObject({
      status: 401,
      json: { error: { code: -32600 } },
    });
  });
});
