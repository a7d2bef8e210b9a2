import { pino } from 'pino';
import { systemClock } from '../clock.ts';
import { assemble, type Errand, type ErrandOptions } from '../errand.ts';
import type { Store } from '../store.ts';
import { memory } from '../stores/memory.ts';
import { clientOver, testClient, type TestClient, type TestClientOptions } from './client.ts';
import { beginLife } from './life.ts';
import { keepTime } from './timekeeper.ts';
import { turning } from './turning.ts';
import type { VirtualClock } from './virtual-clock.ts';

export interface TestErrandOptions extends Partial<ErrandOptions> {
  /** The time that the errand and its store go by. Default: the machine's. */
  readonly clock?: VirtualClock;
  /**
   * Default: `memory()` by the same clock. One of your own needs the clock too:
   * `sqlite(file, { clock: clock.now })`. A crash closes it, so what it keeps must outlast that: `:memory:` does not.
   */
  readonly store?: Store;
}

/** Registers the tools of an errand. */
export type Define = (errand: Errand) => unknown;

/** An errand in a test: it serves nothing but this process, and can be killed. */
export interface TestErrand {
  /** The errand that is up; a new one after each restart. Throws where none is. */
  readonly errand: Errand;
  /** An anonymous client that takes tasks. It outlives restarts; what is under way when the errand crashes rejects. */
  readonly client: TestClient;
  /** Another client. */
  clientAs(options: TestClientOptions): TestClient;
  /**
   * Ends the errand as `kill -9` does: what is not committed is gone, no run goes on, nothing is
   * recorded of effects that are under way, and no signal aborts. JavaScript cannot stop an effect:
   * it ends by itself, and nobody hears of it. What the errand serves to other processes closes as it does in
   * good order, which may take some seconds.
   */
  crash(): Promise<void>;
  /** Starts a new errand over the same store, after a crash if one is up. With `define`, its tools are those of a new deploy. */
  restart(define?: Define): Promise<void>;
  /** Ends the test: like `crash`. */
  close(): Promise<void>;
}

const SILENT = pino({ level: 'silent' });

/**
 * Starts an errand for a test. Tools are registered in `define`, which is called again at each restart.
 *
 * ```ts
 * const clock = virtualClock();
 * const t = await testErrand({ clock }, (errand) => errand.tool('remind', { task: 'always', deadline: '60d' }, remind));
 * const id = await t.client.begin('remind');
 * await clock.advance('30d');
 * expect(await t.client.read(id)).toMatchObject({ status: 'completed' });
 * ```
 */
export async function testErrand(options: TestErrandOptions, define: Define): Promise<TestErrand> {
  const { clock, store = memory({ clock: (clock ?? systemClock).now }), ...rest } = options;
  if (clock !== undefined && store.now() !== clock.now())
    throw new TypeError('testErrand: the store has another clock; make it with { clock: clock.now }');
  const settings: ErrandOptions = {
    name: 'test',
    version: '1.0.0',
    log: SILENT,
    ...rest,
    // Time stands still for a client that polls.
    limits: { ...(clock && { pollsPerSecond: Infinity }), ...rest.limits },
  };
  const cut = new Set<(error: Error) => void>();
  let tools = define;
  let up: { readonly errand: Errand; kill(): Promise<void> } | undefined;

  async function start(): Promise<void> {
    const life = beginLife(store, clock ?? systemClock);
    const { errand, halt } = assemble({ ...settings, store: life.store }, life.clock);
    up = {
      errand,
      async kill() {
        life.end();
        halt();
        for (const reject of cut) reject(new Error('the errand crashed'));
        cut.clear();
        await store.close(); // frees what the dead one owned
      },
    };
    tools(errand);
    await errand.start();
    if (clock !== undefined) await keepTime(life, clock);
  }

  async function crash(): Promise<void> {
    const dying = up;
    up = undefined;
    await dying?.kill();
  }

  function errandUp(): Errand {
    if (up === undefined) throw new Error('the errand is down; restart() starts a new one');
    return up.errand;
  }

  /** As over a connection, which breaks with the errand. */
  const fetch: Errand['fetch'] = (request, facts) =>
    new Promise((resolve, reject) => {
      const answered = errandUp().fetch(request, facts);
      cut.add(reject);
      void answered.then(resolve, reject).finally(() => cut.delete(reject));
    });

  function clientAs(clientOptions: TestClientOptions): TestClient {
    if (clock === undefined) return testClient({ fetch }, clientOptions);
    return clientOver({ fetch }, clientOptions, turning(clock));
  }

  await start();
  return {
    get errand() {
      return errandUp();
    },
    client: clientAs({}),
    clientAs,
    crash,
    async restart(define) {
      await crash();
      tools = define ?? tools;
      await start();
    },
    close: crash,
  };
}
