import { DEFAULT_LIMITS } from '../limits.ts';
import { expect, vi } from 'vitest';
import type { CallOutcome, JournalEntry } from '../task/journal.ts';
import { Journal, type Call, type JournalHost } from './journal.ts';

// A journal on a bench: what its tests share.

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

/** A repeatable source of chance, from 0 up to 1. */
export function chance(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** What a handler of these tests is given. */
export interface Context {
  /** An effect that comes to `name` and a number that no other has. */
  step(name: string, fails?: boolean): Promise<unknown>;
  now(): number;
  uuid(): string;
}

export type Handler = (task: Context) => Promise<unknown>;

export interface Conditions {
  /** How long effects, commits and slots take; the same seed takes the same. */
  readonly seed?: number;
  /** Lets each end wait for a slot, now and then. */
  readonly crowded?: boolean;
}

let serial = 0;

/** One run of a handler over what is on disk; effects, commits and slots take a few turns of the loop. */
export class Bench implements JournalHost {
  readonly limits = DEFAULT_LIMITS;
  readonly disk: JournalEntry[];
  readonly journal: Journal;
  readonly effects: string[] = [];
  readonly mismatch = vi.fn();
  readonly note = vi.fn();
  readonly caughtUp = vi.fn();
  readonly quiet = vi.fn();
  readonly #next: () => number;
  readonly #crowded: boolean;
  #commit: { entries: JournalEntry[]; settle: (() => void)[] } | undefined;

  constructor(disk: readonly JournalEntry[], { seed = 1, crowded = false }: Conditions = {}) {
    this.disk = [...disk];
    this.#next = chance(seed);
    this.#crowded = crowded;
    this.journal = new Journal(disk, this);
  }

  readonly context: Context = {
    step: (name, fails = false) => {
      const start = (call: Call): void => this.#effect(call, name, fails);
      return this.journal.begin('step', name, start).promise;
    },
    now: () => this.journal.value('now', 'now', () => ++serial) as number,
    uuid: () => this.journal.value('uuid', 'uuid', () => `u${++serial}`) as string,
  };

  /** Runs a handler to its end: what it gave, and what is on disk then. */
  async run(handler: Handler): Promise<string> {
    const came = await handler(this.context).then(
      (value) => ({ value }),
      (error: Error) => ({ error: error.message }),
    );
    expect(this.mismatch).not.toHaveBeenCalled();
    expect(this.journal.unreached).toBeUndefined();
    await this.#written(this.journal.finish());
    return JSON.stringify(came);
  }

  flush(): Promise<void> {
    return this.#written(this.journal.take());
  }

  /** Entries that come soon after one another share a commit. */
  #written(entries: readonly JournalEntry[]): Promise<void> {
    return new Promise((resolve) => {
      if (this.#commit === undefined) this.#later(3, () => this.#settle());
      this.#commit ??= { entries: [], settle: [] };
      this.#commit.entries.push(...entries);
      this.#commit.settle.push(resolve);
    });
  }

  resume(): Promise<void> | undefined {
    if (!this.#crowded || this.#next() < 0.5) return undefined;
    return new Promise((resolve) => this.#later(4, resolve));
  }

  #settle(): void {
    const { entries, settle } = this.#commit!;
    this.#commit = undefined;
    this.#write(entries);
    for (const resolve of settle) resolve();
  }

  #write(entries: readonly JournalEntry[]): void {
    this.disk.push(...entries);
    // The store takes no gaps, and neither may the numbers have any.
    expect(this.disk.map(({ seq }) => seq)).toEqual(this.disk.map((_, index) => index));
  }

  #effect(call: Call, name: string, fails: boolean): void {
    this.effects.push(name);
    const outcome: CallOutcome = fails
      ? { failure: { name: 'Error', message: `${name} failed as ${++serial}` } }
      : { value: `${name} ${++serial}` };
    this.#later(6, () => void this.journal.end(call, outcome));
  }

  /** In the present turn of the loop, or up to `most` turns later. */
  #later(most: number, action: () => void): void {
    let left = Math.floor(this.#next() * (most + 1));
    const wait = (): void => void (left-- > 0 ? setImmediate(wait) : action());
    if (left === 0) queueMicrotask(action);
    else wait();
  }
}
