// What requests cost a server whose file holds very many tasks, beside one whose file holds few.
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runBenchmark } from './benchmark.ts';
import type { Outcome } from './benchmark.ts';
import { Connection } from './connection.ts';
import { createTasks, until } from './creation.ts';
import { fill } from './filling.ts';
import type { Kept } from './filling.ts';
import { load } from './load.ts';
import type { Round } from './load.ts';
import { pinLoad } from './machine.ts';
import { modernRequest, resultOf } from './protocol.ts';
import { start } from './serving.ts';
import type { Serving } from './serving.ts';
import type { Subject } from './subject.ts';
import { atMost } from './targets.ts';
import { timed } from './timed.ts';

/** What a file holds that is compared with a big one. The store keeps the last 1,000 tasks in memory: these are all of them. */
const FEW = 1000;
/** What a file holds of which most tasks are read from the file, as of a big one, though it is small. */
const SOME = 20_000;
/** Of so many tasks the ids are known to the load. */
const KNOWN = 50_000;
const CONNECTIONS = 32;
const ROUNDS = 9;
/** How long rounds of reads and of creations take, in s, and how long code runs before, so that it is compiled. */
const READING: Pace = { warmUp: 2, round: 1 };
/** In these the small file grows, to some 20,000 tasks. */
const CREATING: Pace = { warmUp: 1, round: 0.25 };
/** How long it is loaded when the delays of the loop are measured, and how long it is left alone, in s. */
const DELAYS = { loaded: 30, idle: 3 };

/** A server, and tasks that are in its file. */
interface Store {
  readonly serving: Serving;
  readonly ids: readonly string[];
}

interface Pace {
  readonly warmUp: number;
  readonly round: number;
}

interface Delays {
  readonly loop: number;
  readonly commit: number;
  readonly commits: number;
}

async function measure({ tasks, folder }: { readonly tasks: number; readonly folder: string }): Promise<Outcome> {
  const core = pinLoad()?.servers;
  const sample = await sampleIn(path.join(folder, 'sample.db'));
  const open = async (name: string, count: number): Promise<Store> => {
    const file = path.join(folder, name);
    const ids = await fill(file, count, sample, KNOWN);
    return { serving: await start('growth', { core, args: [file] }), ids };
  };
  const few = await open('few.db', FEW);
  const some = await open('some.db', SOME);
  const filling = await timed(() => open('many.db', tasks));
  const many = filling.value;

  const [readFew, readSome, readMany] = await compare([few, some, many], READING, reading);
  const [createFew, createMany] = await compare([few, many], CREATING, () => creating);
  const idle = await delaysOf(many.serving, () => pause(DELAYS.idle * 1000));
  const loaded = await delaysOf(many.serving, () =>
    load(creating, many.serving, { connections: CONNECTIONS, seconds: DELAYS.loaded }),
  );
  for (const { serving } of [few, some, many]) serving.stop();

  return {
    figures: [
      { what: 'tasks that the store takes, without a server', value: tasks / (filling.ms / 1000), unit: '/s' },
      { what: 'CPU of tasks/get among 1,000', value: readFew!, unit: 'µs' },
      { what: 'CPU of tasks/get among 20,000', value: readSome!, unit: 'µs' },
      { what: 'CPU of tasks/get among all', value: readMany!, unit: 'µs' },
      { what: 'tasks/get among all, of that among 20,000', value: readMany! / readSome!, unit: '×' },
      { what: 'CPU of a creation beside 1,000', value: createFew!, unit: 'µs' },
      { what: 'CPU of a creation beside all', value: createMany!, unit: 'µs' },
      { what: 'event loop, p99.9 of an idle server', value: idle.loop, unit: 'ms' },
      { what: 'event loop, p99.9 while tasks are made', value: loaded.loop, unit: 'ms' },
      { what: 'commit, p99.9 while tasks are made', value: loaded.commit, unit: 'ms' },
      { what: 'commits meanwhile', value: loaded.commits, unit: '' },
    ],
    targets: [
      atMost('tasks/get among all, of that among 1,000', readMany! / readFew!, 1.25, '×'),
      atMost('creation beside all, of that beside 1,000', createMany! / createFew!, 1.25, '×'),
      atMost('commit, p99.9', loaded.commit, 20, 'ms'),
      atMost('event loop, p99.9 over an idle one', loaded.loop - idle.loop, 20, 'ms'),
    ],
  };
}

/** A task that has ended, as a server leaves it. */
async function sampleIn(file: string): Promise<Kept> {
  const serving = await start('growth', { core: undefined, args: [file] });
  const { url } = serving;
  await createTasks({
    url,
    tool: 'job',
    tasks: 1,
    argumentsOf: () => ({}),
    onTask: async (taskId, _index, connection) => void (await until('completed', taskId, url, connection)),
  });
  const kept = (await serving.ask('latest')) as Kept;
  serving.stop();
  return kept;
}

/** The least CPU of an operation on each store, in µs, of rounds in turn; others use the machine too. */
async function compare(
  stores: readonly Store[],
  { warmUp, round }: Pace,
  subjectOf: (store: Store) => Subject,
): Promise<number[]> {
  const sides = stores.map((store) => ({ store, subject: subjectOf(store), rounds: [] as Round[] }));
  const operate = ({ store, subject }: (typeof sides)[number], seconds: number): Promise<Round> =>
    load(subject, store.serving, { connections: CONNECTIONS, seconds });
  for (const side of sides) await operate(side, warmUp);
  for (let turn = 0; turn < ROUNDS; turn++) {
    for (const side of sides) side.rounds.push(await operate(side, round));
  }
  return sides.map(({ rounds }) => Math.min(...rounds.map(({ cpuMicros }) => cpuMicros)));
}

function reading({ ids }: Store): Subject {
  return operating('tasks/get', ({ url }) => {
    const taskId = ids[Math.floor(Math.random() * ids.length)]!;
    return modernRequest(url, 'tasks/get', { taskId });
  });
}

const creating = operating('tools/call', ({ url }) => modernRequest(url, 'tools/call', { name: 'job', arguments: {} }));

/** A subject that makes each request anew. */
function operating(method: string, request: (serving: Serving) => string): Subject {
  return {
    key: method,
    name: method,
    server: 'growth',
    async connect(serving) {
      const connection = new Connection(serving.url);
      return {
        async operate() {
          const { taskId } = resultOf(await connection.exchange(request(serving)));
          if (typeof taskId !== 'string') throw new Error(`${method} gave no task`);
        },
        close: () => connection.close(),
      };
    },
  };
}

async function delaysOf(serving: Serving, work: () => Promise<unknown>): Promise<Delays> {
  await serving.ask('watch');
  await work();
  return (await serving.ask('delays')) as Delays;
}

await runBenchmark({
  name: 'growth',
  about: 'Fills a file with tasks, and compares what requests cost with what they cost where there are few.',
  tasks: 1_000_000,
  measure,
});
