import { randomBytes } from 'node:crypto';
import type {
  Change,
  Creation,
  Decide,
  Due,
  ListOptions,
  LiveCounts,
  Store,
  StoreCommit,
  StoreListener,
  StoreOptions,
} from '../store.ts';
import type { StoredEvent } from '../task/event.ts';
import type { JournalEntry } from '../task/journal.ts';
import { isTerminal, type Progress, type Task } from '../task/task.ts';
import { begun, changed, idTaken, keyTaken, woken } from './change.ts';
import { SteadyClock } from './clock.ts';
import { Commits, runTurn, storeAway, type Command, type Read, type Written } from './commits.ts';
import { eventsOf, journalOf, Records, taskOf, type Facts, type Kept } from './memory/records.ts';
import { Turns } from './turns.ts';

/** Keeps tasks in this process, which forgets them when it ends. */
export function memory(options: StoreOptions = {}): Store {
  return new MemoryStore(options);
}

class MemoryStore implements Store {
  readonly #clock: SteadyClock;
  readonly #secret = randomBytes(32);
  readonly #records = new Records();
  readonly #commits = new Commits({
    commit: (commands) => this.#commit(commands),
    answer: (reads) => this.#answer(reads),
  });
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

  create(make: () => Creation): Promise<Task> {
    return this.#write(() => {
      const creation = make();
      const known = this.#records.withKeyOf(creation.task);
      if (known !== undefined && known.facts.expiresAt > this.now()) return { value: taskOf(known), changed: [] };
      if (known !== undefined) this.#records.remove(known.facts.id);
      const task = this.#insert(creation.task, creation);
      return { value: task, changed: [task, ...this.#insertAll(creation.subtasks)] };
    });
  }

  change(id: string, decide: Decide): Promise<Task | undefined> {
    return this.#write(() => {
      const kept = this.#records.get(id);
      return kept === undefined ? { value: undefined, changed: [] } : this.#change(kept, decide);
    });
  }

  changeTree(id: string, decide: Decide): Promise<Task | undefined> {
    return this.#write<Task | undefined>(() => {
      const root = this.#records.get(id);
      if (root === undefined) return { value: undefined, changed: [] };
      const changed = [...this.#change(root, decide).changed];
      for (const descendant of this.#descendants(id)) {
        const kept = this.#records.get(descendant.facts.id)!;
        if (!isTerminal(kept.facts)) changed.push(...this.#change(kept, decide).changed);
      }
      return { value: taskOf(this.#records.get(id)!), changed };
    });
  }

  expire(now: number, limit: number): Promise<number> {
    return this.#write(() => {
      let value = 0;
      for (const { facts } of this.#records.all()) {
        if (value === limit) break;
        if (facts.expiresAt > now) continue;
        this.#records.remove(facts.id);
        value++;
      }
      return { value, changed: [] };
    });
  }

  read(id: string, owner?: string): Promise<Task | undefined> {
    return this.#open ? this.#commits.read(id, owner) : Promise.reject(notOpen());
  }

  async keyed(principal: string, tool: string, key: string): Promise<Task | undefined> {
    this.#assertOpen();
    const kept = this.#records.withKey(principal, tool, key);
    return kept === undefined || kept.facts.expiresAt <= this.now() ? undefined : taskOf(kept);
  }

  async journal(id: string): Promise<JournalEntry[]> {
    const kept = this.#find(id);
    return kept === undefined ? [] : journalOf(kept);
  }

  async events(id: string, after: number, limit: number): Promise<StoredEvent[]> {
    const kept = this.#find(id);
    return kept === undefined ? [] : eventsOf(kept, after, limit);
  }

  async subtasks(id: string, limit?: number): Promise<Task[]> {
    return this.#find(id) === undefined ? [] : this.#records.childrenOf(id).slice(0, limit).map(taskOf);
  }

  async progressBelow(id: string): Promise<Progress | undefined> {
    this.#assertOpen();
    const children = this.#records.childrenOf(id).map(taskOf);
    if (children.length === 0) return undefined;
    const sum = { done: 0, total: 0 };
    for (const { status, parent, progress: { done, total = 0 } = { done: 0 } } of children) {
      const weight = parent?.weight ?? 1;
      sum.total += weight;
      sum.done += weight * (isTerminal({ status }) ? 1 : total > 0 ? done / total : 0);
    }
    return sum;
  }

  async asking(root: string): Promise<Task[]> {
    if (this.#find(root) === undefined) return [];
    return this.#descendants(root)
      .filter(({ facts }) => facts.root === root && facts.status === 'input_required')
      .map(taskOf);
  }

  async list(principal: string, { after, limit, statuses }: ListOptions): Promise<Task[]> {
    const listed = this.#select((facts) => facts.parent === undefined && facts.principal === principal)
      .reverse()
      .sort((one, other) => other.createdAt - one.createdAt);
    const from = listed.findIndex(({ id }) => id === after) + 1;
    return listed
      .slice(from)
      .filter(({ status }) => statuses?.includes(status) ?? true)
      .slice(0, limit)
      .map(({ id }) => taskOf(this.#records.get(id)!));
  }

  async due(after: number, until: number): Promise<Due[]> {
    const isDue = ({ wakeAt = -Infinity, paused }: Facts) => wakeAt > after && wakeAt <= until && paused === undefined;
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
    return this.#records.live(principal);
  }

  async liveCounts(): Promise<LiveCounts> {
    this.#assertOpen();
    return this.#records.liveCounts();
  }

  onCommit(listener: (commit: StoreCommit) => void): () => void {
    return this.#commits.observe(listener);
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

  #write<T>(work: () => Written<T>): Promise<T> {
    return this.#open ? this.#commits.run(work) : Promise.reject(notOpen());
  }

  #commit(commands: readonly Command[]): number {
    return runTurn(commands, (command) => {
      try {
        command.run();
      } catch (thrown) {
        this.#records.takeBack();
        command.fail(thrown);
      }
      this.#records.settle();
    });
  }

  #answer(reads: readonly Read[]): void {
    for (const { id, owner, resolve } of reads) {
      const kept = this.#records.get(id);
      const isTheirs = kept !== undefined && (owner === undefined || owner === kept.facts.principal);
      resolve(isTheirs ? taskOf(kept) : undefined);
    }
  }

  #change(kept: Kept, decide: Decide): { readonly value: Task; readonly changed: readonly Task[] } {
    const task = taskOf(kept);
    const change = decide(task);
    const next = changed(task, change);
    if (next === undefined) return { value: task, changed: [] };
    this.#records.keep(next, change!, this.now());
    return { value: next, changed: [next, ...this.#insertAll(change!.subtasks), ...this.#wake(change!)] };
  }

  #insert(task: Task, beginnings: Pick<Creation, 'entries' | 'events'>): Task {
    if (this.#records.get(task.id) !== undefined) throw idTaken(task.id);
    const first = begun(task, beginnings.events);
    this.#records.keep(first, beginnings, this.now());
    return first;
  }

  #insertAll(subtasks: readonly Task[] = []): Task[] {
    return subtasks.map((task) => {
      if (this.#records.withKeyOf(task) !== undefined) throw keyTaken(task.id);
      return this.#insert(task, {});
    });
  }

  #wake({ wakes }: Change): Task[] {
    const kept = wakes === undefined ? undefined : this.#records.get(wakes);
    const next = kept && woken(taskOf(kept), this.now());
    if (next === undefined) return [];
    this.#records.keep(next, {}, this.now());
    return [next];
  }

  #find(id: string): Kept | undefined {
    this.#assertOpen();
    return this.#records.get(id);
  }

  /** In the order of their creation. */
  #descendants(id: string): Kept[] {
    const found = this.#records.childrenOf(id);
    // Grows while it is walked.
    for (const { facts } of found) found.push(...this.#records.childrenOf(facts.id));
    return found.sort((one, other) => one.facts.createdAt - other.facts.createdAt);
  }

  #select(wanted: (facts: Facts) => boolean, order?: (a: Facts, b: Facts) => number): Facts[] {
    this.#assertOpen();
    const found = [];
    for (const { facts } of this.#records.all()) if (wanted(facts)) found.push(facts);
    return order === undefined ? found : found.sort(order);
  }

  #assertOpen(): void {
    if (!this.#open) throw notOpen();
  }
}

function notOpen(): Error {
  return storeAway(new Error('the store is not open'));
}

function byTime(field: 'wakeAt' | 'deadlineAt'): (a: Facts, b: Facts) => number {
  return (a, b) => (a[field] ?? 0) - (b[field] ?? 0);
}
