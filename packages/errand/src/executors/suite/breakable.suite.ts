import { ErrandError } from '../../errors.ts';
import type { Store } from '../../store.ts';

/** A store that can let its server down. */
export interface Breakable extends Store {
  /** From here on nothing reaches the disk, nothing is answered, and nobody is told: the process is dead. */
  crash(): void;
  /** Crashes at the write of this number, counted from now: before it is made, or before anybody hears of it. */
  crashAt(write: number, when: 'before' | 'after'): void;
  /** Lets this many of the next writes fail, as when a disk is full. */
  fail(writes: number): void;
  /** Lets each write take so long, in ms. */
  slow(ms: number): void;
  readonly dead: boolean;
}

export function breakable(store: Store): Breakable {
  let dead = false;
  let writes = 0;
  let last: { readonly write: number; readonly when: 'before' | 'after' } | undefined;
  let failing = 0;
  let latency = 0;
  const owned: (() => void)[] = [];

  function crash(): void {
    dead = true;
    for (const giveUp of owned) giveUp(); // as the system frees the locks of a process
  }

  /** Settles like `work` does, unless the process is dead by then. */
  async function alive<T>(work: () => Promise<T>): Promise<T> {
    if (dead) return forever();
    try {
      const value = await work();
      return dead ? await forever() : value;
    } catch (error) {
      if (dead) return forever();
      throw error;
    }
  }

  async function write<T>(work: () => Promise<T>): Promise<T> {
    if (dead) return forever();
    writes++;
    if (failing > 0) {
      failing--;
      throw new ErrandError('storeAway', 'The task store is out of reach; try again');
    }
    if (last?.write === writes) {
      const made = last.when === 'before' ? forever() : work();
      crash();
      return made.then(forever);
    }
    if (latency > 0) await new Promise((resolve) => setTimeout(resolve, latency));
    return alive(work);
  }

  const own: Partial<Store> & Omit<Breakable, keyof Store> = {
    crash,
    crashAt: (count, when) => void (last = { write: writes + count, when }),
    fail: (count) => void (failing = count),
    slow: (ms) => void (latency = ms),
    get dead() {
      return dead;
    },
    // Whoever opened the store under it closes it.
    close: async () => undefined,
    create: (make) => write(() => store.create(make)),
    change: (id, decide) => write(() => store.change(id, decide)),
    changeTree: (id, decide) => write(() => store.changeTree(id, decide)),
    expire: (now, limit) => alive(() => store.expire(now, limit)),
    read: (id, owner) => alive(() => store.read(id, owner)),
    keyed: (...of) => alive(() => store.keyed(...of)),
    journal: (id) => alive(() => store.journal(id)),
    events: (id, after, limit) => alive(() => store.events(id, after, limit)),
    subtasks: (id, limit) => alive(() => store.subtasks(id, limit)),
    progressBelow: (id) => alive(() => store.progressBelow(id)),
    asking: (root) => alive(() => store.asking(root)),
    list: (principal, options) => alive(() => store.list(principal, options)),
    due: (after, until) => alive(() => store.due(after, until)),
    held: () => alive(() => store.held()),
    overdue: (now, limit) => alive(() => store.overdue(now, limit)),
    live: (principal) => alive(() => store.live(principal)),
    subscribe: (listener) => store.subscribe((task) => void (dead || listener(task))),
    own(listener) {
      const giveUp = store.own(() => void (dead || listener()));
      owned.push(giveUp);
      return giveUp;
    },
    onForeignCommit: (listener) => store.onForeignCommit(() => void (dead || listener())),
  };
  return new Proxy(store as Breakable, {
    get(_, name: keyof Breakable) {
      if (name in own) return own[name];
      const member = store[name as keyof Store] as unknown;
      return typeof member === 'function' ? (member.bind(store) as unknown) : member;
    },
  });
}

function forever(): Promise<never> {
  return new Promise(() => undefined);
}
