import type { Store } from '../../src/store.ts';

/** When a server dies: over a write, counted from its start, or some turns of the event loop after it was asked for. */
export interface Death {
  readonly write: number;
  readonly moment: 'before' | 'after' | number;
}

/** A store whose server dies over a write: of that, nobody hears any more. */
export interface Mortal {
  readonly store: Store;
  /** The next server dies so, or does not. */
  doom(death: Death | undefined, die: () => void): void;
}

export function mortal(store: Store): Mortal {
  let doomed: { readonly death: Death; readonly die: () => void } | undefined;
  let writes = 0;

  async function write<T>(work: () => Promise<T>): Promise<T> {
    writes++;
    if (doomed?.death.write !== writes) return work();
    const { death, die } = doomed;
    doomed = undefined;
    if (death.moment === 'before') {
      die();
      return new Promise(() => undefined);
    }
    if (death.moment === 'after') {
      await work();
      die();
      return new Promise(() => undefined);
    }
    dieIn(death.moment, die);
    return work();
  }

  const watched: Pick<Store, 'create' | 'change' | 'changeTree'> = {
    create: (make) => write(() => store.create(make)),
    change: (id, decide) => write(() => store.change(id, decide)),
    changeTree: (id, decide) => write(() => store.changeTree(id, decide)),
  };
  return {
    store: new Proxy(store, {
      get(target, name) {
        if (Object.hasOwn(watched, name)) return Reflect.get(watched, name) as unknown;
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      },
    }),
    doom(death, die) {
      writes = 0;
      doomed = death && { death, die };
    },
  };
}

function dieIn(turns: number, die: () => void): void {
  setImmediate(() => (turns === 0 ? die() : dieIn(turns - 1, die)));
}
