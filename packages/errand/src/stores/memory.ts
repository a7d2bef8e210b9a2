import { randomBytes } from 'node:crypto';
import type { Decide, Due, Store, StoreListener, StoreOptions } from '../store.ts';
import type { JournalEntry } from '../task/journal.ts';
import { isTerminal, type Task } from '../task/task.ts';
import { assertNext, changed, idTaken } from './change.ts';
import { SteadyClock } from './clock.ts';
import { Commits, storeAway, type Command, type Written } from './commits.ts';
import { Turns } from './turns.ts';

/** Keeps tasks in this process, which forgets them when it ends. */
export function memory(options: StoreOptions = {}): Store {
  return new MemoryStore(options);
}

/** Texts, as a disk would keep them: nobody who got a task, or gave one, can reach into the record. */
interface Kept {
  readonly text: string;
  readonly facts: Facts;
  /** Grows in place. */
  readonly journal: string[];
}

/** What is asked for over all tasks. */
type Facts = Pick<Task, 'id' | 'principal' | 'status' | 'deadlineAt' | 'expiresAt' | 'wakeAt' | 'held'>;

class MemoryStore implements Store {
  readonly #clock: SteadyClock;
  readonly #secret = randomBytes(32);
  readonly #tasks = new Map<string, Kept>();
  readonly #live = new Map<string, number>();
  readonly #commits = new Commits((commands) => this.#commit(commands));
  #turns = new Turns();
  #open = false;

  constructor(options: StoreOptions) {
    this.#clock = new SteadyClock(options.clock);
  }

  async open(): Promise<void> {
    this.#open = true;
  }

  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#turns = new Turns();
    await this.#commits.drained();
  }

  now(): number {
    return this.#clock.now();
  }

  newId(): string {
    this.#assertOpen();
    return randomBytes(16).toString('base64url');
  }

  async secret(): Promise<Uint8Array> {
    this.#assertOpen();
    return this.#secret;
  }

  create(task: Task, entries: readonly JournalEntry[] = []): Promise<Task> {
    return this.#write(() => {
      if (this.#tasks.has(task.id)) throw idTaken(task.id);
      this.#keep(task, [], entries);
      return { value: task, changed: task };
    });
  }

  change(id: string, decide: Decide): Promise<Task | undefined> {
    return this.#write<Task | undefined>(() => {
      const kept = this.#tasks.get(id);
      if (kept === undefined) return { value: undefined };
      const task = taskOf(kept);
      const change = decide(task);
      const next = changed(task, change);
      if (next === undefined) return { value: task };
      this.#keep(next, kept.journal, change?.entries ?? []);
      return { value: next, changed: next };
    });
  }

  expire(now: number, limit: number): Promise<number> {
    return this.#write(() => {
      let value = 0;
      for (const { facts } of this.#tasks.values()) {
        if (value === limit) break;
        if (facts.expiresAt > now) continue;
        this.#forget(facts.id);
        value++;
      }
      return { value };
    });
  }

  async read(id: string, owner?: string): Promise<Task | undefined> {
    this.#assertOpen();
    const kept = this.#tasks.get(id);
    return kept && (owner === undefined || owner === kept.facts.principal) ? taskOf(kept) : undefined;
  }

  async journal(id: string): Promise<JournalEntry[]> {
    this.#assertOpen();
    return (this.#tasks.get(id)?.journal ?? []).map((text) => JSON.parse(text) as JournalEntry);
  }

  async due(after: number, until: number): Promise<Due[]> {
    const isDue = ({ wakeAt = -Infinity }: Facts) => wakeAt > after && wakeAt <= until;
    return this.#select((facts) => !isTerminal(facts) && isDue(facts), byTime('wakeAt')).map(({ id, wakeAt }) => ({
      id,
      wakeAt: wakeAt!,
    }));
  }

  async held(): Promise<string[]> {
    return this.#select((facts) => !isTerminal(facts) && facts.held !== undefined).map(({ id }) => id);
  }

  async overdue(now: number, limit: number): Promise<string[]> {
    const isOverdue = (facts: Facts) => !isTerminal(facts) && facts.deadlineAt <= now;
    return this.#select(isOverdue, byTime('deadlineAt'))
      .slice(0, limit)
      .map(({ id }) => id);
  }

  async live(principal: string): Promise<number> {
    this.#assertOpen();
    return this.#live.get(principal) ?? 0;
  }

  subscribe(listener: StoreListener): () => void {
    return this.#commits.subscribe(listener);
  }

  own(listener: () => void): () => void {
    this.#assertOpen();
    const giveUp = this.#turns.take(listener);
    return () => void this.#commits.drained().then(giveUp);
  }

  /** No other process has these tasks. */
  onForeignCommit(): () => void {
    return () => undefined;
  }

  async #write<T>(work: () => Written<T>): Promise<T> {
    this.#assertOpen();
    return await this.#commits.run(work);
  }

  #commit(commands: readonly Command[]): void {
    for (const command of commands) {
      try {
        command.run();
      } catch (thrown) {
        command.fail(thrown);
      }
    }
  }

  #keep(task: Task, journal: string[], entries: readonly JournalEntry[]): void {
    // All that can throw comes before the first change.
    assertNext(entries, journal.length);
    const lines = entries.map((entry) => JSON.stringify(entry));
    const kept = { text: JSON.stringify(task), facts: factsOf(task), journal };
    this.#countOut(this.#tasks.get(task.id));
    for (const line of lines) journal.push(line);
    this.#tasks.set(task.id, kept);
    if (!isTerminal(task)) this.#count(task.principal, 1);
  }

  #forget(id: string): void {
    this.#countOut(this.#tasks.get(id));
    this.#tasks.delete(id);
  }

  #countOut(kept: Kept | undefined): void {
    if (kept !== undefined && !isTerminal(kept.facts)) this.#count(kept.facts.principal, -1);
  }

  #count(principal: string, difference: number): void {
    const live = (this.#live.get(principal) ?? 0) + difference;
    if (live === 0) this.#live.delete(principal);
    else this.#live.set(principal, live);
  }

  #select(wanted: (facts: Facts) => boolean, order?: (a: Facts, b: Facts) => number): Facts[] {
    this.#assertOpen();
    const found = [];
    for (const { facts } of this.#tasks.values()) if (wanted(facts)) found.push(facts);
    return order === undefined ? found : found.sort(order);
  }

  #assertOpen(): void {
    if (!this.#open) throw storeAway(new Error('the store is not open'));
  }
}

function taskOf(kept: Kept): Task {
  return JSON.parse(kept.text) as Task;
}

function factsOf({ id, principal, status, deadlineAt, expiresAt, wakeAt, held }: Task): Facts {
  const known = { id, principal, status, deadlineAt, expiresAt };
  return { ...known, ...(wakeAt === undefined ? {} : { wakeAt }), ...(held === undefined ? {} : { held }) };
}

function byTime(field: 'wakeAt' | 'deadlineAt'): (a: Facts, b: Facts) => number {
  return (a, b) => (a[field] ?? 0) - (b[field] ?? 0);
}
