import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** What a server holds when nothing is under way. */
export interface Measure {
  /** Bytes in use after garbage collection, within the heap and beside it. */
  readonly heap: number;
  /** What keeps the process alive, by kind. */
  readonly handles: Readonly<Record<string, number>>;
  /** Tasks that have not ended. */
  readonly live: number;
}

/** A server in a process of its own, on a SQLite file of its own. */
export interface Subject {
  /** The endpoint, or `stdio`. */
  readonly url: string;
  readonly input: Writable;
  readonly output: Readable;
  /** All that it logged: at level `error`, so there should be nothing. */
  log(): string;
  /** Why it is no longer there. */
  gone(): string | undefined;
  /** Waits until every task has ended, then measures. */
  measure(): Promise<Measure>;
  stop(): Promise<void>;
}

export async function startSubject(transport: 'http' | 'stdio'): Promise<Subject> {
  const folder = await mkdtemp(path.join(tmpdir(), 'errand-fuzz-'));
  const args = ['--expose-gc', '--import', 'tsx', path.join(import.meta.dirname, 'server.ts')];
  const child = spawn(process.execPath, [...args, path.join(folder, 'tasks.db'), transport], {
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
  });
  let log = '';
  let gone: string | undefined;
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => (log += chunk));
  child.once('exit', (code, signal) => (gone = `it ended with ${signal ?? code}: ${log}`));
  const closed = once(child, 'close');

  const url = (await message(child)) as string;
  return {
    url,
    input: child.stdin!,
    output: child.stdout!,
    log: () => log,
    gone: () => gone,
    async measure() {
      for (const end = Date.now() + 30_000; ;) {
        child.send('measure');
        const measured = (await message(child)) as Measure;
        if (measured.live === 0) return measured;
        if (Date.now() > end) throw new Error(`${measured.live} tasks do not end`);
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    },
    async stop() {
      child.kill('SIGKILL');
      await closed;
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

async function message(child: ChildProcess): Promise<unknown> {
  const over = new AbortController();
  const { signal } = over;
  try {
    const ended = once(child, 'close', { signal }).then(() => {
      throw new Error('the server ended before it said anything');
    });
    const [said] = (await Promise.race([once(child, 'message', { signal }), ended])) as [unknown];
    return said;
  } finally {
    over.abort();
  }
}
