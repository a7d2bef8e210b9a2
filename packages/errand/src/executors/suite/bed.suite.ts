import { pino } from 'pino';
import { expect, vi, type TestContext } from 'vitest';
import { createErrand, type Errand, type ErrandOptions } from '../../errand.ts';
import type { JsonObject } from '../../json.ts';
import type { Store } from '../../store.ts';
import type { Task } from '../../task/task.ts';
import { testClient, type TestClient, type TestClientOptions } from '../../testing.ts';
import { breakable, type Breakable } from './breakable.suite.ts';

/** A server of a test, and a client of it. */
export interface Server {
  readonly errand: Errand;
  readonly client: TestClient;
  /** A client that takes no tasks. */
  readonly plain: TestClient;
  /** The store as this server sees it: it can fail, and it can take the server down. */
  readonly store: Breakable;
}

/** Registers the tools of a server. */
export type Define = (errand: Errand) => unknown;

/** What the servers of one test have in common: their tasks, which outlive each of them. */
export interface Bed {
  /** Starts a server over what the servers before it left behind. */
  server(define: Define, options?: Partial<ErrandOptions>): Promise<Server>;
  /** What is on disk, as somebody else sees it. */
  readonly disk: Store;
  /** Lets time pass for everybody at once, in ms. */
  advance(ms: number): void;
}

/** How an executor keeps its tasks. Each call of `store` opens the same tasks anew. */
export interface Disk {
  store(clock: () => number): Store;
  /** Removes what is left. */
  wipe(): Promise<void>;
}

const SILENT = pino({ level: 'silent' });

/** Makes the bed of a test, which is cleared away at its end. */
export async function makeBed(disk: Disk, { onTestFinished }: TestContext): Promise<Bed> {
  let ahead = 0;
  const clock = (): number => Date.now() + ahead;
  const closers: (() => Promise<void>)[] = [() => disk.wipe()];
  onTestFinished(async () => {
    for (const close of closers.reverse()) await close();
  });

  async function open(): Promise<Store> {
    const store = disk.store(clock);
    await store.open();
    closers.push(() => store.close());
    return store;
  }

  return {
    disk: await open(),
    advance(ms) {
      ahead += ms;
    },
    async server(define, options) {
      // What a server had under way when it died is on disk, or never will be, when the next one starts.
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
      const store = breakable(await open());
      const errand = createErrand({ name: 'bed', version: '1.0.0', log: SILENT, ...options, store });
      define(errand);
      await errand.start();
      closers.push(async () => store.crash()); // whatever still runs holds nobody up
      return { errand, store, client: testClient(errand), plain: testClient(errand, { tasks: false }) };
    },
  };
}

/** A client whose calls end when it leaves; one that has no answer by then gives `undefined`. */
export function leavingClient(errand: Errand, options?: TestClientOptions) {
  const gone = new AbortController();
  const fetch: Errand['fetch'] = (request, facts) => errand.fetch(new Request(request, { signal: gone.signal }), facts);
  const client = testClient({ fetch }, options);
  return {
    call: (tool: string, args: JsonObject): Promise<JsonObject | undefined> =>
      client.call(tool, args).catch(() => undefined),
    leave: () => gone.abort(),
  };
}

/** Calls a tool that answers with a task, and gives its id. */
export async function begin(client: TestClient, tool: string, args: JsonObject = {}): Promise<string> {
  const answer = await client.call(tool, args);
  expect(answer).toMatchObject({ resultType: 'task' });
  return answer['taskId'] as string;
}

/** The text of the tool result that a task came to, in the end. */
export async function resultOf(client: TestClient, taskId: string): Promise<string> {
  const { result } = await client.until(taskId, 'completed', PATIENCE);
  return textOf(result as JsonObject);
}

/** The first text of a tool result. */
export function textOf(result: object): string {
  return (result as { content: { text: string }[] }).content[0]!.text;
}

/** Waits until something is so, however busy the machine is. */
export async function soon(check: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitUntil(check, { timeout: PATIENCE, interval: 10 });
}

/** Waits until a run has let go of its task: only an answer or a time wakes it then. */
export async function parked(bed: Bed, taskId: string): Promise<Task> {
  await soon(async () => {
    const { wakeAt } = (await bed.disk.read(taskId))!;
    return wakeAt === undefined || wakeAt > bed.disk.now();
  });
  return (await bed.disk.read(taskId))!;
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** How long tests wait for what should come soon, in ms. */
export const PATIENCE = 15_000;
