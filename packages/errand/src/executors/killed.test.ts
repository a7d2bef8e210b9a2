import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { serverProcess } from '../../test/fixtures/server-process.ts';
import { testClient } from '../testing.ts';

/** A client of a server in another process. */
function clientAt(url: string) {
  return testClient({ fetch: async (request) => fetch(url, request) });
}

it(
  'a process that is killed again and again ends its tasks as an unkilled one, and repeats only what it was at (CASES 15)',
  { timeout: 90_000 },
  async ({ onTestFinished }) => {
    const folder = await mkdtemp(join(tmpdir(), 'errand-killed-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const log = join(folder, 'log');
    const start = () => serverProcess('recovery-server.ts', join(folder, 'tasks.db'), log);

    let server = await start();
    const labels = ['x', 'y', 'z'];
    const ids = await Promise.all(
      labels.map(async (label) => (await clientAt(server.url).call('build', { label }))['taskId'] as string),
    );
    const kills = [130, 290, 60];
    for (const after of kills) {
      await delay(after);
      await server.kill();
      server = await start();
    }
    const client = clientAt(server.url);
    for (const [index, label] of labels.entries()) {
      const task = await client.until(ids[index]!, 'completed', 30_000);
      expect(task).toMatchObject({ result: { content: [{ text: `${label}: 1+4+9+16` }] } });
    }
    const lines = (await readFile(log, 'utf8')).trim().split('\n');
    for (const label of labels) {
      const begun = lines.filter((line) => line.startsWith(`${label} begins`));
      // Each kill met at most one step of a task.
      expect(begun.length).toBeLessThanOrEqual(4 + kills.length);
      for (const n of [1, 2, 3, 4]) expect(lines).toContain(`${label} ends ${n}`);
      // Once a step has begun, none before it begins again: what ended is on record.
      const order = begun.map((line) => Number(line.at(-1)));
      expect(order).toEqual(order.toSorted((a, b) => a - b));
    }
  },
);
