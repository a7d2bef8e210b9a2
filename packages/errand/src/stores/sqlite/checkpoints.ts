import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { Database, Statement } from 'better-sqlite3';

/** In pages of 4 KiB. Copied into the database in the background from here on. */
const PASSIVE_AT = 1024;
/** Under steady writes a passive checkpoint never catches up; from here on, writers wait a moment for it. */
const RESTART_AT = 4 * PASSIVE_AT;
/** How soon writers are made to wait again where a reader did not let go of the log meanwhile, as one that copies it all; in ms. */
const AGAIN_AFTER = 1000;
/** Every so many commits the log is looked at. */
const LOOK_EVERY = 8;
/** The background did not come in time: whoever commits does it. */
const OWN_AT = 16 * PASSIVE_AT;

/*
 * Text, because a worker of a `.ts` file would need whatever loader runs this one. The wait for
 * readers is short: while a RESTART waits, nobody can write.
 */
const WORKER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const Database = require(workerData.driver);
  const db = new Database(workerData.file, { timeout: 50, fileMustExist: true });
  parentPort.on('message', (modes) => {
    let refused;
    for (const mode of modes) refused = db.pragma('wal_checkpoint(' + mode + ')')[0].busy === 1;
    if (modes.length > 0) return parentPort.postMessage({ refused });
    db.close();
    parentPort.close();
  });
`;

/**
 * Brings what was committed from the write-ahead log into the database, off the event loop: a
 * checkpoint waits for the disk several times. The thread starts when it is first needed.
 */
export class Checkpoints {
  readonly #file: string;
  #worker: Worker | undefined;
  #isBusy = false;
  #isBroken = false;
  #commits = 0;
  #longReaders = 0;
  /** Until when nobody is made to wait, by the monotonic clock in ms. */
  #quietUntil = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** To be called after each commit. Never throws: the commit stands, and a later one tries again. */
  consider(connection: { readonly db: Database; readonly log: () => LogState }): void {
    if (this.#commits++ % LOOK_EVERY !== 0) return;
    try {
      this.#consider(connection.db, connection.log());
    } catch {
      // The log grows until the disk serves again, or until commits fail and say so.
    }
  }

  /** Does `work`, which reads for long. Nobody waits for such a reader: the log grows meanwhile. */
  async besides<T>(work: () => Promise<T>): Promise<T> {
    this.#longReaders++;
    try {
      return await work();
    } finally {
      this.#longReaders--;
    }
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage([]);
    await ended;
  }

  #consider(db: Database, { pages, copied }: LogState): void {
    const backlog = pages - copied;
    if (pages >= OWN_AT || (this.#isBroken && backlog >= PASSIVE_AT)) db.pragma('wal_checkpoint(PASSIVE)');
    else if (this.#isBroken || this.#isBusy) return;
    else if (pages >= RESTART_AT && this.#mayWait) this.#ask(['PASSIVE', 'RESTART']);
    else if (backlog >= PASSIVE_AT) this.#ask(['PASSIVE']);
  }

  get #mayWait(): boolean {
    return this.#longReaders === 0 && performance.now() >= this.#quietUntil;
  }

  #ask(modes: readonly string[]): void {
    this.#worker ??= this.#start();
    this.#isBusy = true;
    this.#worker.postMessage(modes);
  }

  #start(): Worker {
    const driver = createRequire(import.meta.url).resolve('better-sqlite3');
    const worker = new Worker(WORKER, { eval: true, execArgv: [], workerData: { driver, file: this.#file } });
    worker.on('message', ({ refused }: { readonly refused: boolean }) => {
      this.#isBusy = false;
      if (refused) this.#quietUntil = performance.now() + AGAIN_AFTER;
    });
    worker.on('error', () => (this.#isBroken = true));
    worker.on('exit', () => (this.#worker = undefined));
    // Last, as listening for messages holds on to the process again.
    worker.unref();
    return worker;
  }
}

/** How long the write-ahead log is, and how much of it is in the database already, in pages. */
export interface LogState {
  readonly pages: number;
  readonly copied: number;
}

/** Reads the state of the log; cheap. Both are negative where there is no log. */
export function logReader(db: Database): () => LogState {
  const statement: Statement<[], [busy: number, pages: number, copied: number]> = db
    .prepare<[], [number, number, number]>('PRAGMA wal_checkpoint(NOOP)')
    .raw();
  return () => {
    const [, pages, copied] = statement.get()!;
    return { pages, copied };
  };
}
