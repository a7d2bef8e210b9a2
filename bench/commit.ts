// Where to commit: on the thread of the event loop, as the store does, or on a thread of its own?
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { inFolder } from './folder.ts';
import { quantile } from './load.ts';
import { machine } from './machine.ts';
import type { Writer } from './writers/batches.ts';
import { loopWriter } from './writers/loop.ts';
import { threadWriter } from './writers/thread.ts';

const IN_FLIGHT = [1, 8, 32, 128];
const ROUNDS = 3;
const ROUND_MS = 700;
const WARM_UP_MS = 300;
/** What a task of a small tool takes in the file, roughly. */
const VALUE = JSON.stringify({ status: 'working', tool: 'job', arguments: {}, more: 'x'.repeat(400) });

interface Measured {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU of the process, with all its threads, an operation, in µs. */
  readonly cpuMicros: number;
  /** How late the event loop was, in ms. */
  readonly delayP99: number;
}

async function measure(writer: Writer, inFlight: number, ms: number): Promise<Measured> {
  const times: number[] = [];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const cpuBefore = process.cpuUsage();
  const begun = performance.now();
  delay.enable();
  const drive = async () => {
    while (performance.now() - begun < ms) {
      const sent = performance.now();
      await writer.write(VALUE);
      times.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, drive));
  delay.disable();
  const took = performance.now() - begun;
  const { user, system } = process.cpuUsage(cpuBefore);
  times.sort((a, b) => a - b);
  return {
    perSecond: times.length / (took / 1000),
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    cpuMicros: (user + system) / times.length,
    delayP99: delay.percentile(99) / 1e6,
  };
}

function print(name: string, inFlight: number, rounds: readonly Measured[]): void {
  const best = rounds.toSorted((one, other) => other.perSecond - one.perSecond)[0]!;
  const cells = [
    name.padEnd(16),
    String(inFlight).padStart(9),
    best.perSecond.toFixed(0).padStart(10),
    best.p50.toFixed(2).padStart(9),
    best.p99.toFixed(2).padStart(9),
    Math.min(...rounds.map(({ cpuMicros }) => cpuMicros))
      .toFixed(1)
      .padStart(11),
    best.delayP99.toFixed(1).padStart(16),
  ];
  console.log(cells.join(''));
}

const { date, cpu, cores, node, loadAverage } = machine();
console.log(`${date}Z, ${cpu}, ${cores} cores, Node ${node}, load average ${loadAverage.toFixed(1)}`);
console.log(`best of ${ROUNDS} rounds of ${ROUND_MS} ms in turn\n`);
console.log('                in flight      op/s   p50 ms   p99 ms  CPU µs/op  loop delay p99 ms');
await inFolder(async (folder) => {
  const writers = {
    'same thread': loopWriter(path.join(folder, 'loop.db')),
    'writer thread': await threadWriter(path.join(folder, 'thread.db')),
  };
  for (const inFlight of IN_FLIGHT) {
    const all = Object.entries(writers).map(([name, writer]) => ({ name, writer, rounds: [] as Measured[] }));
    for (const { writer } of all) await measure(writer, inFlight, WARM_UP_MS);
    for (let round = 0; round < ROUNDS; round++) {
      for (const { writer, rounds } of all) rounds.push(await measure(writer, inFlight, ROUND_MS));
    }
    for (const { name, rounds } of all) print(name, inFlight, rounds);
  }
  for (const writer of Object.values(writers)) await writer.close();
});
