import type { Clock } from '../clock.ts';
import type { Store } from '../store.ts';

/** What a server lives by, and how to take it away. */
export interface Life {
  readonly store: Store;
  readonly clock: Clock;
  /** Has the server look at once for what it looks for every so often. */
  look(): Promise<unknown>;
  /**
   * Cuts the server off: of what it has under way nothing is committed any more, nothing that was is
   * answered or told, and no timer of its rings.
   */
  end(): void;
}

/** A server's own view of a store and of a clock that outlive it. */
export function beginLife(store: Store, clock: Clock): Life {
  let dead = false;
  const stops = new Set<() => void>();
  const looks = new Set<() => unknown>();

  /** Arms something of the clock that is disarmed at the end of this life. */
  function armed(arm: () => () => void): () => void {
    if (dead) return () => undefined;
    const disarm = arm();
    const stop = (): void => {
      disarm();
      stops.delete(stop);
    };
    stops.add(stop);
    return stop;
  }

  /** Settles like `work` does, if somebody is there to hear of it. */
  async function heard<T>(work: () => Promise<T>): Promise<T> {
    if (dead) return forever();
    try {
      const value = await work();
      return dead ? await forever() : value;
    } catch (error) {
      if (dead) return forever();
      throw error;
    }
  }

  /** For what is called within a commit: a throw keeps its command out of it. */
  function ifAlive<A extends unknown[], T>(work: (...args: A) => T): (...args: A) => T {
    return (...args) => {
      if (dead) throw new Error('the server has crashed before this was committed');
      return work(...args);
    };
  }

  return {
    look: () => Promise.all([...looks].map((look) => look())),

    end() {
      dead = true;
      for (const stop of stops) stop();
    },

    clock: {
      now: clock.now,
      elapsed: clock.elapsed,
      after: (ms, action) => {
        const stop = armed(() =>
          clock.after(ms, () => {
            stops.delete(stop);
            return action();
          }),
        );
        return stop;
      },
      every(ms, action) {
        return armed(() => {
          looks.add(action);
          const stop = clock.every(ms, action);
          return () => {
            looks.delete(action);
            stop();
          };
        });
      },
      busy: (work) => armed(() => clock.busy(work)),
    },

    store: {
      open: () => heard(() => store.open()),
      close: () => heard(() => store.close()),
      now: () => store.now(),
      newId: () => store.newId(),
      secret: () => heard(() => store.secret()),
      create: (make) => heard(() => store.create(ifAlive(make))),
      read: (id, owner) => heard(() => store.read(id, owner)),
      keyed: (...of) => heard(() => store.keyed(...of)),
      change: (id, decide) => heard(() => store.change(id, ifAlive(decide))),
      changeTree: (id, decide) => heard(() => store.changeTree(id, ifAlive(decide))),
      journal: (id) => heard(() => store.journal(id)),
      events: (id, after, limit) => heard(() => store.events(id, after, limit)),
      subtasks: (id, limit) => heard(() => store.subtasks(id, limit)),
      progressBelow: (id) => heard(() => store.progressBelow(id)),
      asking: (root) => heard(() => store.asking(root)),
      list: (principal, options) => heard(() => store.list(principal, options)),
      due: (after, until) => heard(() => store.due(after, until)),
      held: () => heard(() => store.held()),
      overdue: (now, limit) => heard(() => store.overdue(now, limit)),
      // What is under way of this is not kept out: the next life would remove the same first of all.
      expire: (now, limit) => heard(() => store.expire(now, limit)),
      live: (principal) => heard(() => store.live(principal)),
      ...(store.liveCounts && { liveCounts: () => heard(() => store.liveCounts!()) }),
      ...(store.onCommit && { onCommit: (listener) => store.onCommit!((commit) => void (dead || listener(commit))) }),
      subscribe: (listener) => store.subscribe((task) => void (dead || listener(task))),
      own(listener) {
        const giveUp = store.own(() => void (dead || listener()));
        return () => void (dead || giveUp()); // a life that has ended has given it up with the store
      },
      onForeignCommit: (listener) => store.onForeignCommit(() => void (dead || listener())),
    },
  };
}

function forever(): Promise<never> {
  return new Promise(() => undefined);
}
