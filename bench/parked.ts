// Tasks that wait for an answer, very many of them: what they hold of memory, how soon an answer wakes one, and how
// soon a server that died is back among them.
import { statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runBenchmark } from './benchmark.ts';
import type { Outcome } from './benchmark.ts';
import { Connection } from './connection.ts';
import { createTasks, resultText, until } from './creation.ts';
import { quantile } from './load.ts';
import { progressOf } from './progress.ts';
import { modernRequest, resultOf } from './protocol.ts';
import { start } from './serving.ts';
import type { Serving } from './serving.ts';
import { atMost } from './targets.ts';
import { timed } from './timed.ts';

/** So many tasks are made and answered before anything counts, so that code is compiled and caches are there. */
const WARM_UP = 500;
/** So many parked tasks are answered, one at a time. */
const WAKES = 200;
/**
 * How long servers rest before their memory is read, in s. V8 collects what a load has left behind when memory runs
 * short, or, in a process that rests, when it looks after 100 s; nothing here makes it collect any sooner.
 */
const REST = 150;

interface Parked {
  readonly taskId: string;
  readonly index: number;
}

async function measure({ tasks, folder }: { readonly tasks: number; readonly folder: string }): Promise<Outcome> {
  const file = path.join(folder, 'parked.db');
  const startedEmpty = await timed(() => start('parked', { core: undefined, args: [path.join(folder, 'empty.db')] }));
  const empty = startedEmpty.value;
  const full = await start('parked', { core: undefined, args: [file] });
  for (const serving of [empty, full]) await warmUp(serving);

  const making = await timed(() => park(full, tasks));
  const busyRss = await rss(full);
  await rest();
  const [emptyRss, fullRss] = [await rss(empty), await rss(full)];
  await assertParked(full, tasks);
  const bytes = ['', '-wal'].reduce((sum, suffix) => sum + statSync(file + suffix).size, 0);

  const wakes = await wake(full, making.value);
  if ((await full.ask('effects')) !== tasks + WARM_UP) throw new Error('a step was run again');

  await full.kill();
  const again = await timed(async () => {
    const serving = await start('parked', { core: undefined, args: [file] });
    await assertAsks(serving, making.value.at(-1)!);
    return serving;
  });
  again.value.stop();
  empty.stop();

  const growth = fullRss - emptyRss;
  const [p50, p95] = [quantile(wakes, 0.5), quantile(wakes, 0.95)];
  return {
    figures: [
      { what: 'tasks made and parked', value: tasks / (making.ms / 1000), unit: '/s' },
      { what: 'file', value: bytes / 1024 ** 2, unit: 'MiB' },
      { what: 'file, a task', value: bytes / tasks, unit: 'bytes' },
      { what: 'RSS of an empty server, at rest', value: emptyRss / 1024 ** 2, unit: 'MiB' },
      { what: 'RSS with all parked, at rest', value: fullRss / 1024 ** 2, unit: 'MiB' },
      { what: 'RSS with all parked, right after the load', value: busyRss / 1024 ** 2, unit: 'MiB' },
      { what: 'answer to completed, p50', value: p50, unit: 'ms' },
      { what: 'answer to completed, p95', value: p95, unit: 'ms' },
      { what: 'start over an empty file, until it listens', value: startedEmpty.ms, unit: 'ms' },
      { what: 'start after the kill, until a task is read', value: again.ms, unit: 'ms' },
    ],
    targets: [
      atMost('RSS that parked tasks add, at rest', growth / 1024 ** 2, 64, 'MiB'),
      atMost('answer to completed, p50', p50, 20, 'ms'),
      atMost('restart until a task is read', again.ms / 1000, 2, 's'),
    ],
  };
}

/** Has tasks made, waits until they are parked, and gives some of them at random. */
async function park(serving: Serving, tasks: number): Promise<Parked[]> {
  const chosen = new Set<number>();
  // One more, which nobody answers.
  while (chosen.size < WAKES + 1) chosen.add(Math.floor(Math.random() * tasks));
  const parked: Parked[] = [];
  await createTasks({
    url: serving.url,
    tool: 'ask',
    tasks,
    argumentsOf: (n) => ({ n }),
    onTask(taskId, index) {
      if (chosen.has(index)) parked.push({ taskId, index });
    },
  });
  while ((await serving.ask('awake')) !== 0) await pause(100);
  return parked.toSorted(() => Math.random() - 0.5);
}

/** The time from sending an answer until a client can read that the task is completed, of one task after the other; sorted. */
async function wake(serving: Serving, parked: readonly Parked[]): Promise<number[]> {
  const connection = new Connection(serving.url);
  const times: number[] = [];
  for (const { taskId, index } of parked.slice(0, WAKES)) {
    const { ms, value } = await timed(() => answer(serving.url, taskId, connection));
    if (value !== `decline ${index + 1}`) throw new Error(`task ${index} came to ${value}`);
    times.push(ms);
  }
  connection.close();
  return times.sort((one, other) => one - other);
}

async function answer(url: URL, taskId: string, connection: Connection): Promise<string> {
  const params = { taskId, inputResponses: { go: { action: 'decline' } } };
  resultOf(await connection.exchange(modernRequest(url, 'tasks/update', params)));
  return resultText(await until('completed', taskId, url, connection));
}

async function warmUp(serving: Serving): Promise<void> {
  const { url } = serving;
  await createTasks({
    url,
    tool: 'ask',
    tasks: WARM_UP,
    argumentsOf: (n) => ({ n }),
    async onTask(taskId, _index, connection) {
      await until('input_required', taskId, url, connection);
      await answer(url, taskId, connection);
    },
  });
}

async function assertParked(serving: Serving, tasks: number): Promise<void> {
  const live = JSON.stringify(await serving.ask('live'));
  if (live !== JSON.stringify({ working: 0, input_required: tasks })) throw new Error(`not all are parked: ${live}`);
  if ((await serving.ask('effects')) !== tasks + WARM_UP) throw new Error('not every task took its step once');
}

async function assertAsks({ url }: Serving, { taskId }: Parked): Promise<void> {
  const connection = new Connection(url);
  const { status } = resultOf(await connection.exchange(modernRequest(url, 'tasks/get', { taskId })));
  if (status !== 'input_required') throw new Error(`a parked task is ${String(status)} after the restart`);
  connection.close();
}

async function rest(): Promise<void> {
  const progress = progressOf('letting the servers rest, in seconds', REST);
  for (let second = 0; second < REST; second++) {
    await pause(1000);
    progress.at(second);
  }
  progress.end();
}

async function rss(serving: Serving): Promise<number> {
  return (await serving.ask('rss')) as number;
}

await runBenchmark({
  name: 'parked',
  about: 'Has tasks made that take a step and then wait for an answer, and looks what they cost while they wait.',
  tasks: 1_000_000,
  measure,
});
