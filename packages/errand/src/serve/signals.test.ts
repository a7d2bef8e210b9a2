import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../test/fixtures/served.ts';
import { programCommand } from '../../test/fixtures/server-process.ts';
import { wireClient } from '../../test/fixtures/wire.ts';
import { createErrand } from '../errand.ts';

/** Starts a server in a process of its own, on a file that the next one may take over. */
async function start(options: object = {}, folder?: string) {
  const at = folder ?? (await temporaryFolder());
  const effects = path.join(at, 'effects.log');
  const args = [path.join(at, 'tasks.db'), effects, JSON.stringify(options)];
  const child = spawn(...programCommand('signalled-server.ts', ...args), { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exit = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  const [url] =
    'stdio' in options ? [''] : ((await once(createInterface({ input: child.stdout }), 'line')) as [string]);
  return {
    folder: at,
    child,
    exit,
    url,
    client: wireClient(url),
    effects: () => (existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n') : []),
  };
}

const soon = <T>(look: () => T) => expect.poll(look, { timeout: 15_000, interval: 10 });

// Windows has no such signals to send: there a kill is a kill.
describe.skipIf(process.platform === 'win32')('a server that handles signals', { timeout: 60_000 }, () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('closes on %s, and exits with 0', async (signal) => {
    const { child, exit, effects } = await start();
    child.kill(signal);
    expect(await exit).toBe(0);
    expect(effects()).toEqual(['closed']);
  });

  it('lets the step end that runs, begins no other, and goes on from there at the next start', async () => {
    const first = await start();
    const id = await first.client.begin('steps', { ms: 300, count: 2 });
    await soon(first.effects).toEqual(['begun 1']);
    first.child.kill('SIGTERM');
    expect(await first.exit).toBe(0);
    expect(first.effects()).toEqual(['begun 1', 'ended 1', 'closed']);

    const second = await start({}, first.folder);
    await second.client.ended(id);
    expect(second.effects()).toEqual(['begun 1', 'ended 1', 'closed', 'begun 2', 'ended 2']);
    second.child.kill('SIGTERM');
    expect(await second.exit).toBe(0);
  });

  it('waits for no step longer than it may take to close', async () => {
    const { client, child, exit, effects } = await start();
    await client.begin('steps', { ms: 60_000 });
    await soon(effects).toEqual(['begun 1']);
    const began = performance.now();
    child.kill('SIGTERM');
    expect(await exit).toBe(0);
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(effects()).toEqual(['begun 1', 'closed']);
  });

  it('answers a call that is held, and then exits', async () => {
    const { client, child, exit, effects } = await start();
    const held = client.send('tools/call', { name: 'steps', arguments: { ms: 300 } }, { capabilities: {} });
    await soon(effects).toEqual(['begun 1']);
    child.kill('SIGTERM');
    expect((await held).messages).toHaveLength(1);
    expect(await exit).toBe(0);
  });

  it('says first that it is not ready, and serves on for as long as it gives notice', async () => {
    const { url, client, child, exit } = await start({ notice: '700ms' });
    const ready = async () => (await fetch(new URL('/readyz', url))).status;
    expect(await ready()).toBe(200);
    child.kill('SIGTERM');
    await soon(ready).toBe(503);
    const id = await client.begin('steps', { ms: 1 });
    expect(await client.ended(id)).toMatchObject({ status: 'completed' });
    expect(await exit).toBe(0);
  });

  it('exits at once on a second signal, but not on the same one passed on', async () => {
    const { client, child, exit, effects } = await start();
    await client.begin('steps', { ms: 20_000 });
    await soon(effects).toEqual(['begun 1']);
    child.kill('SIGINT');
    await wait(50);
    child.kill('SIGINT');
    await wait(500);
    expect(child.exitCode).toBeNull();
    const began = performance.now();
    child.kill('SIGTERM');
    expect(await exit).toBe(128 + 15);
    expect(performance.now() - began).toBeLessThan(2000);
    expect(effects()).toEqual(['begun 1']);
  });

  it('does so on stdio too', async () => {
    const { child, exit, effects } = await start({ stdio: true });
    await soon(effects).toEqual(['serving']);
    child.kill('SIGTERM');
    expect(await exit).toBe(0);
    expect(effects()).toEqual(['serving', 'closed']);
  });
});

describe('signals', () => {
  const listeners = () => ['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => process.listenerCount(signal));

  it('are left alone unless a program asks, and again when the server has closed', async () => {
    const before = listeners();
    const quiet = createErrand({ name: 't', version: '1' });
    await quiet.serve({ port: 0 });
    expect(listeners()).toEqual(before);
    await quiet.close();

    const errand = createErrand({ name: 't', version: '1' });
    await errand.serve({ port: 0, handleSignals: true });
    await errand.serve({ port: 0, handleSignals: true });
    expect(listeners()).toEqual(before.map((count) => count + 1));
    await errand.close();
    expect(listeners()).toEqual(before);
  });
});
