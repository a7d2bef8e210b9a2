// A step that must not run twice. Killed in the middle of it, it is not tried again: the handler learns that the
// outcome is unknown, and finds out downstream.
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createErrand, StepUnknown } from 'errand';
import { sqlite } from 'errand/sqlite';
import * as z from 'zod';
import { startServer, tellUrl } from './child.ts';
import { connect, resultOf } from './client.ts';

async function serve(folder: string): Promise<void> {
  const bank = path.join(folder, 'bank.txt');
  const errand = createErrand({ name: 'till', version: '1.0.0', store: sqlite(path.join(folder, 'tasks.db')) });
  const inputSchema = z.object({ amount: z.number() });
  errand.tool('charge', { inputSchema, task: 'always', pollInterval: '100ms' }, async ({ amount }, task) => {
    const transfer = async () => {
      appendFileSync(bank, `${task.id} ${amount}\n`);
      await pause(60_000); // The bank's answer is slow; the crash comes before it.
    };
    try {
      await task.step('transfer', transfer, { atMostOnce: true });
      return 'charged';
    } catch (error) {
      if (!(error instanceof StepUnknown)) throw error;
      const found = await task.step('look at the account', () => readFileSync(bank, 'utf8').includes(task.id));
      return found ? 'charged, as the account shows' : 'not charged';
    }
  });
  tellUrl((await errand.serve({ port: 0 })).url);
}

async function call(): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'errand-at-most-once-'));
  const bank = path.join(folder, 'bank.txt');
  const first = await startServer(import.meta.url, folder);
  const caller = await connect(new StreamableHTTPClientTransport(new URL(first.url)));
  const execution = await caller.tasks.callTool('charge', { amount: 20 });
  assert(execution.kind === 'task');
  const handle = execution.serializeReference();
  while (!existsSync(bank) || readFileSync(bank, 'utf8') === '') await pause(20);
  await first.kill();
  await caller.close();

  const second = await startServer(import.meta.url, folder);
  const finder = await connect(new StreamableHTTPClientTransport(new URL(second.url)));
  const { content } = await resultOf(await finder.tasks.resumeTask(handle));
  console.log(content);
  assert.deepEqual(content, [{ type: 'text', text: 'charged, as the account shows' }]);
  assert.equal(readFileSync(bank, 'utf8'), `${handle.taskId} 20\n`);
  await finder.close();
  await second.kill();
  rmSync(folder, { recursive: true });
}

await (process.argv[2] === 'serve' ? serve(process.argv[3]!) : call());
