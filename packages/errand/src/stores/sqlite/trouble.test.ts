import type Database from 'better-sqlite3';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { createErrand, type Errand } from '../../errand.ts';
import type { Store } from '../../store.ts';
import { testClient } from '../../testing.ts';
import { sqlite } from '../sqlite.ts';
import { create, newTask } from '../suite/subject.suite.ts';

/** Every connection that was opened, the latest last. */
const connections = vi.hoisted(() => [] as Database.Database[]);
vi.mock('better-sqlite3', async (original) => {
  const { default: Original } = await original<{ default: typeof Database }>();
  class Noted extends Original {
    constructor(...args: ConstructorParameters<typeof Original>) {
      super(...args);
      connections.push(this);
    }
  }
  return { default: Noted };
});
const { default: Driver } = await import('better-sqlite3');

const folder = mkdtempSync(join(tmpdir(), 'errand-trouble-'));
let files = 0;
const newFile = () => join(folder, `${++files}.db`);
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function opened(file = newFile()): Promise<Store> {
  const store = sqlite(file);
  await store.open();
  closers.push(() => store.close());
  return store;
}

/** A client of a server on a file, and what the server logs. */
function served(file: string, define: (errand: Errand) => void) {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const errand = createErrand({ name: 'trouble', version: '1.0.0', store: sqlite(file), log });
  define(errand);
  closers.push(() => errand.close());
  return { errand, client: testClient(errand), lines };
}

/** Somebody else's open transaction. */
function locked(file: string) {
  const db = new Driver(file);
  db.exec('BEGIN IMMEDIATE');
  const release = () => void (db.open && db.close());
  closers.push(release);
  return release;
}

/** What the caller and the operator are told of a command that failed. */
const away = (what: RegExp) =>
  expect.objectContaining({
    code: -32603,
    message: 'The task store is out of reach; try again',
    data: { retryable: true, retryAfterMs: 1000 },
    cause: expect.objectContaining({ message: expect.stringMatching(what) as string }) as Error,
  }) as Error;

describe('a full disk', () => {
  /** No page can be added to the file of the connection that was opened last but for the lock; a page is 4 KiB. */
  function fill(file: string): () => void {
    const db = connections.findLast(({ name, open }) => name === file && open)!;
    const pages = db.pragma('max_page_count', { simple: true }) as number;
    db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true }) as number}`);
    return () => void db.pragma(`max_page_count = ${pages}`);
  }

  test('refuses what has no room and says so, serves readers, and takes everything once there is room', async () => {
    const file = newFile();
    const store = await opened(file);
    const kept = await create(store, newTask(store));
    const free = fill(file);
    const big = { ...newTask(store), arguments: { text: 'x'.repeat(50_000) } };
    await expect(create(store, big)).rejects.toEqual(away(/\.db cannot be used: its disk is full .*; free some space/));
    expect(await store.read(kept.id)).toEqual(kept);
    expect(await store.read(big.id)).toBeUndefined();
    free();
    expect(await create(store, big)).toEqual(big);
  });

  test('keeps the work of a run until there is room; no step runs again', async () => {
    const file = newFile();
    const effects: string[] = [];
    let free = () => {};
    const { client, lines } = served(file, (errand) =>
      errand.tool('render', { task: 'always' }, async (_, task) => {
        await task.step('render', () => {
          effects.push('rendered');
          free = fill(file);
          return 'x'.repeat(100_000);
        });
        return 'saved';
      }),
    );
    const { taskId } = await client.call('render');
    await vi.waitUntil(() => effects.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await client.read(taskId as string)).toMatchObject({ status: 'working' });
    // Whoever asks for what has no room is told to try again, and the operator what to do.
    await expect(client.call('render', { text: 'x'.repeat(50_000) })).rejects.toMatchObject({
      code: -32603,
      data: { retryable: true, retryAfterMs: 1000 },
    });
    for (const message of ['the store cannot take what a run did; trying again', 'a request failed']) {
      const line = lines.find((line) => line.includes(message));
      expect(line).toMatch(/its disk is full .*; free some space/);
      expect(line).toContain(file);
    }
    free();
    await client.until(taskId as string, 'completed', 10_000);
    expect(effects).toHaveLength(1);
  });
});

describe('a locked file', () => {
  /** The longest time for which the event loop served nobody, in ms. */
  function longestStall(): () => number {
    let last = performance.now();
    let longest = 0;
    const ticks = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 5);
    closers.push(() => clearInterval(ticks));
    return () => longest;
  }

  test('holds commands up until it is free, in order, and the event loop goes on', async () => {
    const file = newFile();
    const store = await opened(file);
    const { id } = await create(store, newTask(store));
    const release = locked(file);
    const stall = longestStall();
    const order: string[] = [];
    const say = (statusMessage: string) =>
      store.change(id, (task) => (order.push(statusMessage), { task: { ...task, statusMessage } }));
    const changes = [say('first')];
    await new Promise((resolve) => setTimeout(resolve, 700));
    changes.push(say('second'));
    expect(await store.read(id)).not.toHaveProperty('statusMessage');
    await new Promise((resolve) => setTimeout(resolve, 300));
    release();
    await Promise.all(changes);
    expect(order).toEqual(['first', 'second']);
    // It waits a tenth of a second at a time; the rest is for a busy machine.
    expect(stall()).toBeLessThan(400);
  });

  test('slows no reader down, however long it holds commands up', async () => {
    const file = newFile();
    const store = await opened(file);
    const { id } = await create(store, newTask(store));
    const release = locked(file);
    const change = store.change(id, (task) => ({ task: { ...task, statusMessage: 'at last' } }));
    const waits: number[] = [];
    for (const end = performance.now() + 1500; performance.now() < end;) {
      const before = performance.now();
      await store.read(id);
      waits.push(performance.now() - before);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    release();
    await change;
    expect(waits.sort((a, b) => a - b)[Math.floor(waits.length * 0.9)]).toBeLessThan(40);
  });

  test('is read from also by who starts meanwhile, who writes once it is free', { timeout: 20_000 }, async () => {
    const file = newFile();
    const store = await opened(file);
    const { id } = await create(store, newTask(store));
    const release = locked(file);
    const late = await opened(file);
    late.own(() => undefined);
    expect(await late.read(id)).toBeDefined();
    expect(await late.due(-Infinity, late.now())).toHaveLength(1);
    release();
    const task = newTask(late);
    expect(await create(late, task)).toEqual(task);
  });

  test(
    'for too long fails what waits, also what came later, with a remedy; and then serves again',
    { timeout: 20_000 },
    async () => {
      const file = newFile();
      const store = await opened(file);
      await create(store, newTask(store));
      const release = locked(file);
      const tasks = [newTask(store), newTask(store)];
      const first = create(store, tasks[0]!);
      const failed = expect(first).rejects.toEqual(away(/another program holds it locked .*; end the transaction/));
      await new Promise((resolve) => setTimeout(resolve, 4000));
      await expect(create(store, tasks[1]!)).rejects.toMatchObject({ kind: 'storeAway' });
      await failed;
      release();
      expect(await Promise.all(tasks.map((task) => create(store, task)))).toEqual(tasks);
    },
  );

  test(
    'that only one program may open is waited for at the start, and named when that takes too long',
    { timeout: 20_000 },
    async () => {
      const file = newFile();
      await (await opened(file)).close();
      const db = new Driver(file);
      db.pragma('locking_mode = EXCLUSIVE');
      db.exec('BEGIN EXCLUSIVE');
      closers.push(() => db.open && db.close());
      await expect(opened(file)).rejects.toThrow(new RegExp(`${file} cannot be used: another program holds it locked`));
      const opening = opened(file);
      await new Promise((resolve) => setTimeout(resolve, 300));
      db.close();
      await opening;
    },
  );
});

test('a server closes in time, though its file is locked for longer than that', { timeout: 30_000 }, async () => {
  const file = newFile();
  const { client, errand } = served(file, (errand) =>
    errand.tool('render', { task: 'always' }, (_, task) =>
      task.step('render', () => new Promise<string>((resolve) => setTimeout(resolve, 500, 'rendered'))),
    ),
  );
  await client.call('render');
  const front = served(file, (errand) => errand.tool('render', { task: 'always' }, () => 'never'));
  await front.errand.start();
  locked(file);
  const held = front.client.call('render').catch((error: unknown) => error);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const before = performance.now();
  await Promise.all([errand.close(), front.errand.close()]);
  expect(performance.now() - before).toBeLessThan(10_000);
  expect(await held).toMatchObject({ code: -32603, data: { retryable: true } });
});

describe('a file that may only be read', () => {
  /** Does something as a user who owns nothing, as nothing is forbidden to the superuser. */
  async function asNobody(work: () => Promise<void>): Promise<void> {
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid!(65_534);
    try {
      await work();
    } finally {
      if (isRoot) process.seteuid!(0);
    }
  }

  test.skipIf(process.platform === 'win32')('is refused at the start with what to do, and stays as it is', async () => {
    const readOnly = mkdtempSync(join(folder, 'read-only-'));
    chmodSync(folder, 0o755);
    for (const [file, mode] of [
      ['file.db', 0o555],
      ['open.db', 0o777],
    ] as const) {
      const store = await opened(join(readOnly, file));
      const { id } = await create(store, newTask(store));
      await store.close();
      chmodSync(join(readOnly, file), 0o444);
      chmodSync(readOnly, mode);
      await asNobody(async () => {
        await expect(opened(join(readOnly, file))).rejects.toThrow(
          /\.db cannot be used: it cannot be (written|opened) .*; (let this user|check that .* this user may read and write it)/,
        );
        if (mode === 0o555)
          await expect(opened(join(readOnly, 'new', 'deep.db'))).rejects.toThrow(
            /deep\.db cannot be used: its folder cannot be made/,
          );
      });
      chmodSync(readOnly, 0o755);
      chmodSync(join(readOnly, file), 0o644);
      expect(await (await opened(join(readOnly, file))).read(id)).toBeDefined();
    }
  });

  test.skipIf(process.platform === 'win32')(
    'cannot say who owns the tasks: two would, so nobody does, and is told which file it is',
    async () => {
      const shared = mkdtempSync(join(folder, 'shared-'));
      chmodSync(folder, 0o755);
      chmodSync(shared, 0o777);
      const file = join(shared, 'tasks.db');
      const first = await opened(file);
      await first.secret();
      first.own(() => undefined);
      await first.close();
      // As when an administrator has started it once, and then gave all but this to the user who is to run it.
      for (const name of readdirSync(shared)) chmodSync(join(shared, name), name.endsWith('.owner') ? 0o444 : 0o666);
      await asNobody(async () => {
        const second = await opened(file);
        let owns = false;
        expect(() => second.own(() => (owns = true))).toThrow(
          /tasks\.db\.owner cannot be used: it cannot be written .*; let this user write the file and its folder/,
        );
        expect(owns).toBe(false);
      });
      chmodSync(`${file}.owner`, 0o644);
    },
  );
});

describe('a damaged file', () => {
  async function damagedAt(offset: number): Promise<{ file: string; ids: string[] }> {
    const file = newFile();
    const store = await opened(file);
    const ids: string[] = [];
    for (let made = 0; made < 50; made++)
      ids.push((await create(store, { ...newTask(store), arguments: { text: 'x'.repeat(3000) } })).id);
    await store.close();
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, Buffer.alloc(100_000, 0x5a), 0, undefined, offset);
    closeSync(descriptor);
    return { file, ids };
  }

  test('is refused at the start where that shows, with what to do', async () => {
    const { file } = await damagedAt(0);
    await expect(opened(file)).rejects.toThrow(
      new RegExp(`${file} cannot be used: it is no SQLite database .*; restore it from a backup`),
    );
  });

  test('serves what can be read, and says of the rest what is wrong', async () => {
    const { file, ids } = await damagedAt(120_000);
    const store = await opened(file);
    const results = await Promise.allSettled(ids.map((id) => store.read(id)));
    const read = results.filter(({ status }) => status === 'fulfilled');
    const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    expect(read.length).toBeGreaterThan(0);
    expect(failed.length).toBeGreaterThan(0);
    for (const error of failed) expect(error).toEqual(away(/it is damaged .*; restore it from a backup/));
  });
});

test('a folder in place of the file is named', async () => {
  const file = join(folder, 'folder.db');
  mkdirSync(file);
  await expect(opened(file)).rejects.toThrow(`${file} cannot be used: it cannot be opened`);
});
