// A server that is killed while very many runs are each inside a step: how soon the next one has brought all to their end.
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sqlite } from 'errand/sqlite';
import { runBenchmark } from './benchmark.ts';
import type { Outcome } from './benchmark.ts';
import { Connection } from './connection.ts';
import { createTasks, resultText } from './creation.ts';
import { modernRequest, resultOf } from './protocol.ts';
import { start } from './serving.ts';
import type { Serving } from './serving.ts';
import { atMost } from './targets.ts';
import { timed } from './timed.ts';

/** How often the server is asked how far it is, in ms. */
const LOOK_EVERY = 10;

/** How many effects have begun, and how many tasks have ended, in the life of a server. */
interface Counts {
  readonly effects: number;
  readonly ended: number;
}

async function measure({ tasks, folder }: { readonly tasks: number; readonly folder: string }): Promise<Outcome> {
  const file = path.join(folder, 'recovery.db');
  const ids: string[] = [];
  const first = await start('recovery', { core: undefined, args: [file, String(tasks), 'waits'] });
  await createTasks({
    url: first.url,
    tool: 'square',
    tasks,
    argumentsOf: (n) => ({ n }),
    onTask: (taskId, index) => void (ids[index] = taskId),
  });
  await reaches(first, ({ effects }) => effects === tasks);
  await first.kill();

  const begun = performance.now();
  const { value: second, ms: startMs } = await timed(() =>
    start('recovery', { core: undefined, args: [file, String(tasks), 'ends'] }),
  );
  await reaches(second, ({ effects }) => effects >= tasks);
  const resumedMs = performance.now() - begun;
  await reaches(second, ({ ended }) => ended >= tasks);
  const endedMs = performance.now() - begun;
  const cpuMs = (await second.cpuMicros()) / 1000;

  await assertResults(second, ids);
  await assertCounts(second, tasks);
  await second.kill();
  await assertJournals(file, ids);
  return {
    figures: [
      { what: 'killed and started, until it listens', value: startMs, unit: 'ms' },
      { what: 'until all runs are resumed', value: resumedMs, unit: 'ms' },
      { what: 'until all tasks have ended', value: endedMs, unit: 'ms' },
      { what: 'CPU that the server used until then', value: cpuMs, unit: 'ms' },
      { what: 'right results, and steps that are recorded once', value: ids.length, unit: '' },
    ],
    targets: [atMost('restart until all tasks have ended', endedMs / 1000, 5, 's')],
  };
}

async function reaches(serving: Serving, isThere: (counts: Counts) => boolean): Promise<void> {
  while (!isThere((await serving.ask('counts')) as Counts)) await pause(LOOK_EVERY);
}

/** Throws unless a client reads for each task what its own arguments lead to. */
async function assertResults({ url }: Serving, ids: readonly string[]): Promise<void> {
  const connection = new Connection(url);
  for (const [index, taskId] of ids.entries()) {
    const task = resultOf(await connection.exchange(modernRequest(url, 'tasks/get', { taskId })));
    const text = task['status'] === 'completed' ? resultText(task) : task['status'];
    if (text !== String(index * index)) throw new Error(`task ${index} came to ${String(text)}`);
  }
  connection.close();
}

/** Throws unless each effect that was interrupted was run again once, and each task ended once. */
async function assertCounts(serving: Serving, tasks: number): Promise<void> {
  const { effects, ended } = (await serving.ask('counts')) as Counts;
  if (effects !== tasks || ended !== tasks) throw new Error(`${effects} effects and ${ended} ends of ${tasks} tasks`);
}

/** Throws unless each journal holds one step, begun once and ended once. */
async function assertJournals(file: string, ids: readonly string[]): Promise<void> {
  const store = sqlite(file);
  await store.open();
  for (const [index, id] of ids.entries()) {
    const lines = (await store.journal(id)).map(({ seq, type }) => `${seq} ${type}`).join(', ');
    if (lines !== '0 begin, 1 end') throw new Error(`the journal of task ${index} is: ${lines}`);
  }
  await store.close();
}

await runBenchmark({
  name: 'recovery',
  about: 'Kills a server while each of its tasks is inside a step, and looks how soon the next server has ended all.',
  tasks: 10_000,
  measure,
});
