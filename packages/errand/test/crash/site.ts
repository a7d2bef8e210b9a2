import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sqlite } from '../../src/stores/sqlite.ts';
import type { JournalEntry } from '../../src/task/journal.ts';
import type { Task } from '../../src/task/task.ts';
import type { Point } from './doom.ts';
import { readLedger, type Line } from './ledger.ts';

/** A server that is up, or was. */
export interface Life {
  readonly number: number;
  readonly url: string;
  readonly over: Promise<void>;
  readonly isOver: boolean;
}

/** A task of a file. */
export interface Kept {
  readonly task: Task;
  readonly journal: readonly JournalEntry[];
}

/** What was in the file when a life was over. */
export interface Remains {
  readonly life: number;
  /** All tasks by id, each after the one that made it. */
  readonly tasks: ReadonlyMap<string, Kept>;
}

/** The sites that are not removed yet. */
export const openSites = new Set<Site>();

/** How long a server may take to come up, in ms. */
const PATIENCE = 30_000;

/** A folder with the file of a server, its ledger, and at most one process that serves it. */
export class Site {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'errand-crash-'));
  readonly #program: string;
  readonly #watched: boolean;
  /** No other server answers under this path, whichever port it is given. */
  readonly #path = `/${randomUUID()}`;
  readonly #file = path.join(this.folder, 'tasks.db');
  readonly #ledger = path.join(this.folder, 'ledger.jsonl');
  #child: ChildProcess | undefined;
  #lives = 0;
  #life: Life | undefined;
  #wanted: ((life: Life | undefined) => void)[] = [];
  #closed = false;
  #log = '';

  /** `watched`: its writes are counted, and it can be given a point. */
  constructor(program: string, { watched }: { readonly watched: boolean }) {
    this.#program = program;
    this.#watched = watched;
    openSites.add(this);
  }

  /** Starts a process on the file. `up` settles once it serves, with `undefined` where it was killed before. */
  start(point?: Point): {
    readonly up: Promise<Life | undefined>;
    readonly over: Promise<void>;
    kill(): Promise<void>;
  } {
    const number = ++this.#lives;
    const args = [this.#file, this.#ledger, String(number), this.#path, this.#watched ? 'watched' : 'alone'];
    const child = fork(this.#program, [...args, ...(point ? [JSON.stringify(point)] : [])], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child = child;
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.#log += text));
    let isOver = false;
    const over = once(child, 'close').then(([code, signal]) => {
      isOver = true;
      if (this.#life?.number === number) this.#life = undefined;
      if (signal !== 'SIGKILL') this.#log += `life ${number} ended by itself: ${code ?? signal}\n`;
    });
    const up = Promise.race([
      once(child, 'message').then(([url]): Life => {
        const life = {
          number,
          url: url as string,
          over,
          get isOver() {
            return isOver;
          },
        };
        if (!isOver) this.#isUp(life);
        return life;
      }),
      over.then(() => undefined),
      new Promise<never>((_, reject) => {
        setTimeout(() => reject(new Error(`life ${number} did not come up`)), PATIENCE).unref();
      }),
    ]);
    return {
      up,
      over,
      kill: async () => {
        child.kill('SIGKILL');
        await over;
      },
    };
  }

  /** The life that serves, now or next, other than `last`; `undefined` once there will be no more. */
  async serving(last?: Life): Promise<Life | undefined> {
    if (this.#closed) return undefined;
    if (this.#life !== undefined && this.#life !== last && !this.#life.isOver) return this.#life;
    return new Promise((resolve) => this.#wanted.push(resolve));
  }

  #isUp(life: Life): void {
    this.#life = life;
    for (const resolve of this.#wanted.splice(0)) resolve(life);
  }

  /** What servers said, and what happened to them that nobody asked for. */
  get log(): string {
    return this.#log;
  }

  ledger(): readonly Line[] {
    return readLedger(this.#ledger);
  }

  /** What is in the file between two lives. Looks at a copy, so that the next life finds all as the last one left it. */
  async remains(): Promise<Remains> {
    const tasks = new Map<string, Kept>();
    if (existsSync(this.#file)) {
      const copy = path.join(this.folder, 'copy.db');
      for (const suffix of ['', '-wal']) {
        if (existsSync(this.#file + suffix)) copyFileSync(this.#file + suffix, copy + suffix);
        else rmSync(copy + suffix, { force: true });
      }
      rmSync(`${copy}-shm`, { force: true });
      const store = sqlite(copy);
      await store.open();
      const found = await store.list('anonymous', { limit: Number.MAX_SAFE_INTEGER });
      // Grows while it is walked.
      for (const task of found) {
        tasks.set(task.id, { task, journal: await store.journal(task.id) });
        if (task.subtasks !== undefined) found.push(...(await store.subtasks(task.id)));
      }
      await store.close();
    }
    return { life: this.#lives, tasks };
  }

  /** Kills what runs. Nobody is served any more. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const resolve of this.#wanted.splice(0)) resolve(undefined);
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'close');
  }

  /** Kills what runs, and removes its folder. */
  remove(): void {
    this.#child?.kill('SIGKILL');
    openSites.delete(this);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
