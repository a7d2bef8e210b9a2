import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PLAIN_CLIENT } from '../../test/fixtures/frames.ts';
import { wireClient } from '../../test/fixtures/wire.ts';
import { raw } from '../../test/raw-http.ts';
import { createErrand, type ErrandOptions } from '../errand.ts';
import { memory } from '../stores/memory.ts';
import type { Store } from '../store.ts';
import type { HttpOptions } from './http.ts';

async function served(http: HttpOptions = {}, options: Partial<ErrandOptions> = {}) {
  const errand = createErrand({ name: 't', version: '1', log: pino({ level: 'silent' }), ...options });
  errand.tool('slow', {}, async (_, task) => task.step('slow', () => wait(300, 'done')));
  const { url, port } = await errand.serve({ port: 0, ...http });
  onTestFinished(() => errand.close());
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(new URL(path, url), init);
    return { status: response.status, body: await response.text(), headers: response.headers };
  };
  return { errand, port, url, ask };
}

const NEVER = { mode: 'required', verify: () => undefined } as const;

describe('probes', () => {
  it('hear that the server lives and is ready, in a word, and nothing else', async () => {
    const { ask } = await served();
    const [live, ready] = [await ask('/healthz'), await ask('/readyz?from=probe')];
    expect([live.status, live.body]).toEqual([200, '{"status":"ok"}']);
    expect([ready.status, ready.body]).toEqual([200, '{"status":"ready"}']);
    expect(ready.headers.get('cache-control')).toBe('no-store');
    expect(ready.headers.get('content-type')).toBe('application/json');
  });

  it('may ask by HEAD, and by nothing else', async () => {
    const { ask } = await served();
    expect(await ask('/readyz', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
    const posted = await ask('/readyz', { method: 'POST', body: '{}' });
    expect(posted.status).toBe(405);
    expect(posted.headers.get('allow')).toBe('GET, HEAD');
  });

  it('need no token, and may ask by any name', async () => {
    const { port, ask } = await served({ auth: NEVER });
    expect((await ask('/readyz')).status).toBe(200);
    const text =
      'GET /readyz HTTP/1.1\r\nHost: 10.1.2.3:8080\r\nOrigin: https://e.example\r\nConnection: close\r\n\r\n';
    expect(await raw(port, text)).toMatch(/^HTTP\/1.1 200 /);
    expect(await raw(port, 'GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /);
  });

  it('find the endpoint as it was', async () => {
    const { ask } = await served();
    expect((await ask('/mcp')).status).toBe(405);
    expect((await ask('/healthz/')).status).toBe(404);
  });
});

describe('the paths of probes', () => {
  it('can be others', async () => {
    const { ask } = await served({ health: { live: '/live', ready: false } });
    expect((await ask('/live')).status).toBe(200);
    for (const path of ['/healthz', '/readyz']) expect((await ask(path)).status).toBe(404);
  });

  it('can be none', async () => {
    const { ask } = await served({ health: false });
    for (const path of ['/healthz', '/readyz']) expect((await ask(path)).status).toBe(404);
  });

  it.each([
    [{ live: 'live' }, 'begins with "/"'],
    [{ live: '/mcp' }, 'the path of the MCP endpoint'],
    [{ live: '/x', ready: '/x' }, 'both questions'],
  ])('that make no sense are refused: %j', async (health, why) => {
    const errand = createErrand({ name: 't', version: '1' });
    await expect(errand.serve({ port: 0, health })).rejects.toThrow(why);
  });
});

describe('a server is not ready', () => {
  it('before it has started, but lives', async () => {
    let open!: () => void;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const store = memory();
    const start = store.open.bind(store);
    const errand = createErrand({
      name: 't',
      version: '1',
      store: withMethods(store, { open: () => opened.then(start) }),
    });
    const port = await freePort();
    const serving = errand.serve({ port });
    onTestFinished(() => errand.close());
    const ask = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return [response.status, await response.text()];
    };
    await expect.poll(() => ask('/readyz').catch(() => [])).toEqual([503, '{"status":"starting"}']);
    expect((await ask('/healthz'))[0]).toBe(200);
    open();
    await serving;
    expect((await ask('/readyz'))[0]).toBe(200);
  });

  it('while its store is away, and says no more of that', async () => {
    let away = true;
    const store = memory();
    const read = store.read.bind(store);
    const failing: Store['read'] = (...asked) => (away ? Promise.reject(new Error('/data/x.db: I/O')) : read(...asked));
    const { ask } = await served({}, { store: withMethods(store, { read: failing }) });
    expect(await ask('/readyz')).toMatchObject({ status: 503, body: '{"status":"store away"}' });
    expect((await ask('/healthz')).status).toBe(200);
    away = false;
    expect((await ask('/readyz')).status).toBe(200);
  });

  it('where its store does not answer in time; probes that come meanwhile share one look', async () => {
    let reads = 0;
    const hanging: Store['read'] = () => {
      reads += 1;
      return new Promise(() => undefined);
    };
    const { ask } = await served({}, { store: withMethods(memory(), { read: hanging }) });
    const answers = await Promise.all([ask('/readyz'), ask('/readyz'), ask('/readyz')]);
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(reads).toBe(1);
  });

  it('while it drains, as those hear whose connection is there by then', async () => {
    const { errand, port, url } = await served();
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    let heard = '';
    socket.setEncoding('utf8').on('data', (text: string) => (heard += text));
    const probe = 'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n';
    socket.write(probe);
    await expect.poll(() => heard).toContain('"ready"');
    const held = wireClient(url).call('slow', {}, { capabilities: PLAIN_CLIENT });
    await wait(50);
    // It came before the server closes, and is asked on after.
    socket.write(probe.slice(0, 20));
    await wait(20);
    const closed = errand.close();
    socket.write(probe.slice(20));
    await expect.poll(() => heard).toContain('HTTP/1.1 503');
    expect(heard).toContain('"draining"');
    await Promise.all([held, closed]);
  });
});

/** A store with some methods of another. */
function withMethods(store: Store, methods: Partial<Store>): Store {
  return Object.assign(store, methods);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
