// Steps survive a crash: the server is killed with SIGKILL at three moments, and started again. Each task ends
// with its result, and no step that was recorded runs a second time (each writes a line, and the lines are counted).
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { TaskView } from '@modelcontextprotocol/ext-tasks/client';
import { createErrand } from 'errand';
import { sqlite } from 'errand/sqlite';
import * as z from 'zod';
import { startServer, tellUrl } from './child.ts';
import { connect, resultOf, type Answer } from './client.ts';

async function serve(folder: string): Promise<void> {
  const errand = createErrand({ name: 'press', version: '1.0.0', store: sqlite(path.join(folder, 'tasks.db')) });
  const inputSchema = z.object({ title: z.string() });
  errand.tool('publish', { inputSchema, task: 'always', pollInterval: '100ms' }, async ({ title }, task) => {
    const effect = (name: string) =>
      task.step(name, async () => {
        await pause(200);
        appendFileSync(path.join(folder, 'effects.txt'), `${title}: ${name}\n`);
      });
    await effect('write');
    task.status('written');
    await effect('print');
    const answer = await task.elicit('approve', { message: 'Print it?', schema: z.object({ copies: z.int() }) });
    task.status('drying');
    await task.sleep('1s');
    await effect('deliver');
    return `${answer.content?.copies} copies of ${title}`;
  });
  tellUrl((await errand.serve({ port: 0 })).url);
}

const accept: Answer = () => ({ action: 'accept', content: { copies: 7 } });
const silence: Answer = () => new Promise<never>(() => {});

async function killWhen(title: string, moment: (task: TaskView) => boolean, before: Answer): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'errand-crash-'));
  const first = await startServer(import.meta.url, folder);
  const caller = await connect(new StreamableHTTPClientTransport(new URL(first.url)), before);
  const execution = await caller.tasks.callTool('publish', { title });
  assert(execution.kind === 'task');
  const handle = execution.serializeReference();
  while (!moment(await caller.tasks.task(handle.taskId).snapshot())) await pause(20);
  await first.kill();
  await caller.close();

  const second = await startServer(import.meta.url, folder);
  const finder = await connect(new StreamableHTTPClientTransport(new URL(second.url)), accept);
  const { content } = await resultOf(await finder.tasks.resumeTask(handle));
  assert.deepEqual(content, [{ type: 'text', text: `7 copies of ${title}` }]);
  const effects = readFileSync(path.join(folder, 'effects.txt'), 'utf8').trim().split('\n');
  assert.deepEqual(effects, [`${title}: write`, `${title}: print`, `${title}: deliver`]);
  console.log(`killed ${title}: the task ended with its result, and each step ran once`);
  await finder.close();
  await second.kill();
  rmSync(folder, { recursive: true });
}

if (process.argv[2] === 'serve') {
  await serve(process.argv[3]!);
} else {
  await killWhen('between steps', (task) => task.statusMessage === 'written', accept);
  await killWhen('while it waits for a person', (task) => task.status === 'input_required', silence);
  await killWhen('during a sleep', (task) => task.statusMessage === 'drying', accept);
}
