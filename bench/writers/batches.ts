import Database from 'better-sqlite3';

/** Writes values to a file, each on disk before its promise resolves. */
export interface Writer {
  write(value: string): Promise<void>;
  close(): Promise<void> | void;
}

/** Opens a file as the store does, and gives what commits many values at once, and what closes it. */
export function openBatches(file: string) {
  const database = new Database(file);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('CREATE TABLE IF NOT EXISTS tasks (row INTEGER PRIMARY KEY, value TEXT NOT NULL)');
  const insert = database.prepare<[string]>('INSERT INTO tasks (value) VALUES (?)');
  return {
    commit: database.transaction((values: readonly string[]) => {
      for (const value of values) insert.run(value);
    }),
    close: () => void database.close(),
  };
}

/** Gathers what comes in one iteration of the event loop, and hands it on as one batch. */
export class Gathering {
  readonly #flush: (values: readonly string[], done: readonly (() => void)[]) => void;
  #values: string[] = [];
  #done: (() => void)[] = [];

  constructor(flush: (values: readonly string[], done: readonly (() => void)[]) => void) {
    this.#flush = flush;
  }

  add(value: string): Promise<void> {
    return new Promise((resolve) => {
      if (this.#values.length === 0) setImmediate(() => this.#handOn());
      this.#values.push(value);
      this.#done.push(resolve);
    });
  }

  #handOn(): void {
    const [values, done] = [this.#values, this.#done];
    this.#values = [];
    this.#done = [];
    this.#flush(values, done);
  }
}
