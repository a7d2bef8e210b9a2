import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';

export interface Machine {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  /** Over the last minute, before anything is measured. */
  readonly loadAverage: number;
}

export function machine(): Machine {
  return {
    date: new Date().toISOString().slice(0, 16),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    system: `${process.platform} ${release()} ${process.arch}`,
    node: process.version,
    loadAverage: loadavg()[0] ?? Number.NaN,
  };
}

/** The core of the servers and the core of the load. */
export interface Cores {
  readonly servers: number;
  readonly load: number;
}

/** Keeps this process, which makes the load, on a core of its own; gives no cores where that cannot be done. */
export function pinLoad(): Cores | undefined {
  const pid = String(process.pid);
  try {
    // "pid 7's current affinity list: 0,2-5"
    const allowed = execFileSync('taskset', ['-c', '-p', pid], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const numbers = /: (\S+)\s*$/.exec(allowed)?.[1]?.split(/[,-]/).map(Number) ?? [];
    const cores = { servers: Math.min(...numbers), load: Math.max(...numbers) };
    if (!(cores.servers < cores.load)) return undefined;
    execFileSync('taskset', ['-a', '-c', '-p', String(cores.load), pid], { stdio: 'ignore' });
    return cores;
  } catch {
    return undefined;
  }
}
