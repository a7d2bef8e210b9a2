import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');
const START = path.join(ROOT, 'scripts/start.mjs');

interface Ended {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of ours to its end, with `typed` on its stdin. */
function run(args: readonly string[], typed = ''): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd: ROOT, timeout: 50_000 };
    const child = execFile(process.execPath, args, options, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? null) : 0, stdout, stderr }),
    );
    child.stdin?.end(typed);
  });
}

describe('npm start', { timeout: 60_000 }, () => {
  const data = mkdtempSync(path.join(tmpdir(), 'errand-start-'));
  let server: ChildProcess;
  let said = '';
  let url = '';
  const call = (words: readonly string[], typed?: string) =>
    run(['--import', 'tsx', 'examples/call.ts', url, ...words], typed);

  async function start(): Promise<void> {
    said = '';
    server = spawn(process.execPath, [START, '--port', '0', '--data', data, '--root', ROOT], { cwd: ROOT });
    server.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text));
    while (!said.includes('Ctrl-C')) await once(server.stdout!, 'data');
    url = /http:\S+/.exec(said)![0];
  }

  /** Does what the curl line that the server printed for `tools/call` does, for the tool and the folder given. */
  async function curl(tool: string, folder: string): Promise<{ result: { taskId: string } }> {
    const line = said.replaceAll('hash_tree', tool).replace('"path":"examples"', `"path":"${folder}"`);
    const [, options, body] = /curl -s \S+ (-H '[^]*?)\s+-d '(.*)'/.exec(line)!;
    const headers = Object.fromEntries(
      [...options!.matchAll(/-H '(.*?): (.*?)'/g)].map(([, name, value]) => [name, value]),
    );
    const response = await fetch(url, { method: 'POST', headers, body: body! });
    return (await response.json()) as { result: { taskId: string } };
  }

  beforeAll(start, 60_000);

  afterAll(() => {
    server.kill('SIGKILL');
    rmSync(data, { recursive: true, maxRetries: 5 });
  });

  test('prints curl lines that work as they are', async () => {
    expect(await curl('hash_tree', 'examples')).toMatchObject({ result: { resultType: 'task', status: 'working' } });
  });

  test('hashes a folder to the same digest twice, and says how far it is', async () => {
    const [first, second] = [
      await call(['hash_tree', 'path=examples/demo']),
      await call(['hash_tree', 'path=examples/demo']),
    ];
    expect(first.stdout).toMatch(/^[0-9a-f]{64} {2}examples\/demo \(\d+ files, \d+ bytes\)\n$/);
    expect(second.stdout).toBe(first.stdout);
    expect(first.stderr).toMatch(/(\d+) of \1 files hashed/);
  });

  test('reads nothing outside of its root', async () => {
    const outside = await call(['hash_tree', 'path=..']);
    expect(outside).toMatchObject({ code: 1, stdout: expect.stringContaining('lies outside of') });
  });

  test('writes thumbnails when the caller approves, and none when the caller declines', async () => {
    const declined = await call(['thumbnails', 'width=64'], 'n\n');
    expect(declined).toMatchObject({ code: 0, stdout: 'Nothing was written.\n' });
    expect(readdirSync(data)).not.toContain('thumbnails');
    await call(['thumbnails', 'width=64'], 'y\npng\n');
    expect(readdirSync(path.join(data, 'thumbnails')).sort()).toEqual(['dunes.png', 'forest.png', 'harbour.png']);
  });

  test('compares a file with a URL that fails at first', async () => {
    let requests = 0;
    const flaky = createServer((_request, response) => {
      requests += 1;
      response.writeHead(requests < 2 ? 503 : 200).end('{ "printWidth": 100 }\n');
    });
    await once(flaky.listen(0, '127.0.0.1'), 'listening');
    const page = `http://127.0.0.1:${(flaky.address() as AddressInfo).port}/`;
    const { stdout } = await call(['compare', 'left=.prettierrc.json', `right=${page}`]);
    flaky.close();
    expect(requests).toBe(2);
    expect(stdout).toContain('-  "printWidth": 120,');
    expect(stdout).toContain('+{ "printWidth": 100 }');
  });

  test('fetches nothing from other machines', async () => {
    const foreign = await call(['compare', 'left=.prettierrc.json', 'right=http://example.com/']);
    expect(foreign).toMatchObject({ code: 1, stdout: 'http://example.com/ is not on this machine.\n' });
  });

  test('says what to do when the port is taken', async () => {
    const { port } = new URL(url);
    const second = await run([START, '--port', port, '--data', path.join(data, 'second')]);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(
      `Port ${port} is taken. Free it, or take another: npm start -- --port ${Number(port) + 1}\n`,
    );
  });

  test('explains its options, and refuses those it does not know', async () => {
    expect(await run([START, '--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('--port <number>') });
    expect(await run([START, '--prot', '1'])).toMatchObject({ code: 1, stderr: expect.stringContaining("'--prot'") });
    expect(await run([START, '--port', 'http'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is no port'),
    });
  });

  test('goes on with a task after kill -9, also for a client that knows only its id', async () => {
    const { result } = await curl('thumbnails', 'examples/demo/images');
    server.kill('SIGKILL');
    await once(server, 'exit');
    await start();
    const resumed = await call(['--task', result.taskId], 'y\njpeg\n');
    expect(resumed.code).toBe(0);
    expect(readdirSync(path.join(data, 'thumbnails'))).toContain('harbour.jpeg');
  });

  // Windows has no SIGTERM to send: there a kill is a kill.
  test.skipIf(process.platform === 'win32')('drains on SIGTERM and ends with 0', async () => {
    server.kill('SIGTERM');
    const [code] = (await once(server, 'exit')) as [number | null];
    expect(said).toContain('Stopped. Unfinished tasks go on when the server starts again.');
    expect(code).toBe(0);
  });
});
