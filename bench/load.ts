import { requestsSent } from './connection.ts';
import type { Serving } from './serving.ts';
import type { Client, Subject } from './subject.ts';

/** What one subject did in one round. */
export interface Round {
  readonly operations: number;
  readonly perSecond: number;
  /** Requests an operation. */
  readonly requests: number;
  /** CPU of the server's process an operation, in µs. */
  readonly cpuMicros: number;
  /** What part of the time the server's process was computing; above 1 where threads of it ran side by side. */
  readonly busy: number;
  /** How long operations, or their timed part, took, in ms. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export interface LoadOptions {
  readonly connections: number;
  readonly seconds: number;
}

/** Has clients operate over and over for some time, each as soon as its last operation is done. */
export async function load(subject: Subject, serving: Serving, options: LoadOptions): Promise<Round> {
  const { connections, seconds } = options;
  const clients = await Promise.all(Array.from({ length: connections }, () => subject.connect(serving)));
  const cpuBefore = await serving.cpuMicros();
  const sentBefore = requestsSent();
  const begun = performance.now();
  const times = await operate(clients, begun + seconds * 1000);
  const took = performance.now() - begun;
  const requests = requestsSent() - sentBefore;
  const cpu = (await serving.cpuMicros()) - cpuBefore;
  await Promise.all(clients.map(async (client) => client.close()));
  times.sort((a, b) => a - b);
  return {
    operations: times.length,
    perSecond: times.length / (took / 1000),
    requests: requests / times.length,
    cpuMicros: cpu / times.length,
    busy: cpu / 1000 / took,
    p50: quantile(times, 0.5),
    p95: quantile(times, 0.95),
    p99: quantile(times, 0.99),
  };
}

async function operate(clients: readonly Client[], end: number): Promise<number[]> {
  const times: number[] = [];
  const drive = async (client: Client) => {
    while (performance.now() < end) {
      const begun = performance.now();
      const timed = await client.operate();
      times.push(timed ?? performance.now() - begun);
    }
  };
  await Promise.all(clients.map(drive));
  return times;
}

/** The value below which a share of sorted values lies. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}
