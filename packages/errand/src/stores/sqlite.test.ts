import Database from 'better-sqlite3';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { storeSuite } from '../store.suite.ts';
import type { Store, StoreOptions } from '../store.ts';
import type { Task } from '../task/task.ts';
import { describe as describeTask } from '../task/transitions.ts';
import { sqlite } from './sqlite.ts';
import { begin, create, makeAndExpire, newTask } from './suite/subject.suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'errand-sqlite-'));
let files = 0;
/** The path of a file that is not there, nor is its folder. */
const newFile = () => join(folder, `${++files}`, 'tasks.db');

const stores: Store[] = [];
async function opened(file: string, options?: StoreOptions): Promise<Store> {
  const store = sqlite(file, options);
  await store.open();
  stores.push(store);
  return store;
}

afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

storeSuite('sqlite', (options) => sqlite(newFile(), options));

describe('a file', () => {
  test('keeps tasks, journals and the secret over a restart', async () => {
    const file = newFile();
    const first = await opened(file);
    const task = await create(first, newTask(first), [begin(0, 'a')]);
    const changed = await first.change(task.id, (now) => ({ task: { ...now, runs: 1 }, entries: [begin(1, 'b')] }));
    const secret = await first.secret();
    await first.close();
    const second = await opened(file);
    expect(await second.read(task.id)).toEqual(changed);
    expect(await second.journal(task.id)).toEqual([begin(0, 'a'), begin(1, 'b')]);
    expect(await second.secret()).toEqual(secret);
  });

  test('of a newer version is refused with what to do, and stays as it is', async () => {
    const file = newFile();
    await (await opened(file)).close();
    using raw = new Raw(file);
    raw.db.pragma('user_version = 99');
    await expect(opened(file)).rejects.toThrow(/newer version of Errand .*99.*update the errand package/);
    expect(raw.db.pragma('user_version', { simple: true })).toBe(99);
  });

  test('of another program is refused, and stays as it is', async () => {
    const file = join(folder, 'other.db');
    using raw = new Raw(file);
    raw.db.exec('CREATE TABLE theirs (a)');
    await expect(opened(file)).rejects.toThrow('another program');
    expect(raw.db.prepare('SELECT name FROM sqlite_schema').pluck().all()).toEqual(['theirs']);
    expect(raw.db.pragma('journal_mode', { simple: true })).toBe('delete');
  });

  test('that cannot be opened is named', async () => {
    await expect(opened(folder)).rejects.toThrow(`${folder} cannot be used: it cannot be opened`);
    expect(() => sqlite('')).toThrow('path of a file');
  });

  // CASES 7
  test('gives its room back when tasks have expired', { timeout: 60_000 }, async () => {
    const file = newFile();
    const store = await opened(file);
    const kept = await create(store, { ...newTask(store), expiresAt: Number.MAX_SAFE_INTEGER });
    const size = async () => {
      await store.close();
      await store.open();
      return statSync(file).size;
    };
    const before = await size();
    for (let made = 0; made < 20; made++)
      await create(store, { ...newTask(store), arguments: { big: 'x'.repeat(1e6) } });
    expect(await size()).toBeGreaterThan(before + 20e6);
    await makeAndExpire(store, 10_000);
    for (let bite = 0; bite < 10; bite++) await store.expire(0, 0);
    expect(await size()).toBeLessThanOrEqual(before * 1.1);
    using raw = new Raw(file);
    const count = (table: string) => raw.db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
    expect(['task', 'call', 'journal'].map(count)).toEqual([1, 1, 0]);
    expect(await store.read(kept.id)).toEqual(kept);
  });

  test('does not take large arguments again with each change', async () => {
    const file = newFile();
    const store = await opened(file);
    const task = await create(store, { ...newTask(store), arguments: { big: 'x'.repeat(1e6) } });
    using raw = new Raw(file);
    const before = raw.logPages();
    await store.change(task.id, (now) => ({ task: describeTask(now, 'on', store.now()) }));
    expect(raw.logPages() - before).toBeLessThan(10);
  });
});

describe('a commit', () => {
  test('is on disk for others when its promises settle, and not before', async () => {
    const file = newFile();
    const store = await opened(file);
    using raw = new Raw(file);
    const creations = [create(store, newTask(store)), create(store, newTask(store))];
    expect(raw.rows()).toBe(0);
    await Promise.any(creations);
    expect(raw.rows()).toBe(2);
  });

  test('of nothing but refused and idle commands writes nothing', async () => {
    const file = newFile();
    const store = await opened(file);
    const { id } = await create(store, newTask(store));
    using raw = new Raw(file);
    const before = raw.logPages();
    const refused = store.change(id, () => {
      throw new Error('no');
    });
    await Promise.allSettled([refused, store.change(id, () => undefined), store.change('unknown', () => undefined)]);
    expect(raw.logPages()).toBe(before);
  });

  test.each([
    ['fails at its end', 'INSERT INTO fault VALUES (-1)', 'FOREIGN KEY'],
    ['is undone half-way by a failing disk', "SELECT RAISE(ROLLBACK, 'disk full')", 'disk full'],
  ])('that %s fails all its commands, and the store goes on from the file', async (_, fault, why) => {
    const file = newFile();
    const store = await opened(file);
    const old = await create(store, newTask(store));
    const [good, poison] = [newTask(store), { ...newTask(store), tool: 'poison' }];
    using raw = new Raw(file);
    // A broken reference is noticed at COMMIT only: a commit that fails as it would on a failing disk.
    raw.db.exec(`
      CREATE TABLE fault (row REFERENCES task DEFERRABLE INITIALLY DEFERRED);
      CREATE TRIGGER fault AFTER INSERT ON call WHEN new.tool = 'poison' BEGIN ${fault}; END;
    `);
    const heard: Task[] = [];
    await new Promise(setImmediate);
    store.subscribe((task) => heard.push(task));

    const change = () => store.change(old.id, (task) => ({ task: { ...task, runs: 1 } }));
    const results = await Promise.allSettled([
      create(store, good),
      change(),
      store.change(old.id, () => undefined),
      create(store, poison),
      store.expire(Infinity, 10),
    ]);
    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: { kind: 'storeAway', retryable: true } });
      expect(result).toHaveProperty('reason.cause.message', expect.stringContaining(why));
    }
    expect(await store.read(good.id)).toBeUndefined();
    expect(await store.read(old.id)).toEqual(old);
    const taken = raw.rowsTaken();
    expect(await Promise.all([create(store, good), change()])).toMatchObject([good, { runs: 1 }]);
    // The file was opened anew: ids come from rows that were taken anew.
    expect(raw.rowsTaken()).toBeGreaterThan(taken);
    await new Promise(setImmediate);
    expect(heard.map(({ id }) => id)).toEqual([good.id, old.id]);
  });

  test('cannot be asked for ids, which would be lost with it', async () => {
    const store = await opened(newFile());
    const { id } = await create(store, newTask(store));
    const asking = store.change(id, (task) => ({ task: { ...task, statusMessage: store.newId() } }));
    await expect(asking).rejects.toThrow('while a task is being decided on');
  });
});

describe('two stores on one file', () => {
  test('never give one id twice, and read what the other wrote', async () => {
    const file = newFile();
    const [first, second] = [await opened(file), await opened(file)];
    const tasks = Array.from({ length: 1500 }, () => [newTask(first), newTask(second)]).flat();
    await Promise.all(tasks.map((task, index) => create(index % 2 === 0 ? first : second, task)));
    expect(await second.read(tasks[0]!.id)).toEqual(tasks[0]);
    expect(await first.read(tasks[1]!.id)).toEqual(tasks[1]);
    expect(await first.live('local')).toBe(3000);
  });

  test('lose no change of a task that both change', async () => {
    const file = newFile();
    const pair = [await opened(file), await opened(file)];
    const { id } = await create(pair[0]!, newTask(pair[0]!));
    for (let round = 0; round < 20; round++) {
      await Promise.all(pair.map((store) => store.change(id, (task) => ({ task: { ...task, runs: task.runs + 1 } }))));
    }
    expect(await pair[1]!.read(id)).toMatchObject({ runs: 40, version: 41 });
  });

  test('show what the other has acknowledged, at whatever point of the event loop', async () => {
    const file = newFile();
    const [reader, writer] = [await opened(file), await opened(file)];
    const { id } = await create(reader, newTask(reader));
    for (let runs = 1; runs <= 20; runs++) {
      // The reader looks right before the writer commits, in the same phase of the same turn.
      setImmediate(() => void reader.read(id));
      await writer.change(id, (task) => ({ task: { ...task, runs } }));
      expect(await reader.read(id)).toMatchObject({ runs });
    }
  });

  test('tell each other of commits, soon, and not of their own', async () => {
    const file = newFile();
    const [first, second] = [await opened(file), await opened(file)];
    await create(first, newTask(first));
    const calls = { first: 0, second: 0 };
    const stop = first.onForeignCommit(() => calls.first++);
    second.onForeignCommit(() => calls.second++);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const before = { ...calls };
    const task = await create(first, newTask(first));
    await expect.poll(() => calls.second).toBe(before.second + 1);
    expect(await second.read(task.id)).toEqual(task);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(calls).toEqual({ first: before.first, second: before.second + 1 });
    stop();
    await second.change(task.id, (now) => ({ task: { ...now, runs: 1 } }));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(calls.first).toBe(before.first);
  });

  test('read what they were told of, though they read the task just before it changed', async () => {
    const file = newFile();
    const store = await opened(file);
    const { id } = await create(store, newTask(store));
    using raw = new Raw(file);
    // Runs just before each look for commits, in the same iteration of the event loop.
    const change = vi.fn(() => undefined as void);
    const ticks = setInterval(change, 20);
    const reads: Promise<Task | undefined>[] = [];
    store.onForeignCommit(() => void reads.push(store.read(id)));
    await new Promise((resolve) => setTimeout(resolve, 100));
    reads.length = 0;
    change.mockImplementationOnce(() => {
      void store.read(id);
      raw.db.exec('UPDATE task SET epoch = 1, version = version + 1');
    });
    await expect.poll(() => reads.length).toBe(1);
    clearInterval(ticks);
    expect(await reads[0]).toMatchObject({ epoch: 1 });
  });

  test('that name it by a link have one owner and one secret', async () => {
    const file = newFile();
    const first = await opened(file);
    const link = join(folder, 'link.db');
    symlinkSync(file, link);
    const second = await opened(link);
    first.own(() => undefined);
    let owns = false;
    second.own(() => (owns = true));
    expect(owns).toBe(false);
    expect(await second.secret()).toEqual(await first.secret());
  });

  test('have one secret, which only its owner may read', async () => {
    const file = newFile();
    const several = await Promise.all([opened(file), opened(file), opened(file), opened(file)]);
    const secrets = await Promise.all(several.map((store) => store.secret()));
    for (const secret of secrets) expect(secret).toEqual(secrets[0]);
    expect(readFileSync(`${file}.secret`)).toEqual(secrets[0]);
    if (process.platform !== 'win32') expect(statSync(`${file}.secret`).mode & 0o777).toBe(0o600);
  });
});

test('a secret that was cut short is not taken for one', async () => {
  const file = newFile();
  const store = await opened(file);
  writeFileSync(`${file}.secret`, 'short');
  await expect(store.secret()).rejects.toThrow(`${file}.secret should hold 32 bytes`);
});

test('a forged row number does not open the task that is there', async () => {
  const store = await opened(newFile());
  const tasks = await Promise.all(Array.from({ length: 4 }, () => create(store, newTask(store))));
  // Rows 1 to 4 are there: by flipping bits of the sealed number, an id can name each of them, and 0, 5, 6, 7.
  for (let bits = 1; bits < 8; bits++) {
    const bytes = Buffer.from(tasks[0]!.id, 'base64url');
    bytes[bytes.length - 1]! ^= bits;
    expect(await store.read(bytes.toString('base64url'))).toBeUndefined();
  }
});

describe('the clock', () => {
  const HOUR = 3_600_000;

  test('does not fall behind a time that was stored before a restart', async () => {
    const file = newFile();
    const first = await opened(file, { clock: () => 10 * HOUR });
    await create(first, newTask(first));
    await first.close();
    const second = await opened(file, { clock: () => 10 * HOUR - 1000 });
    expect(second.now()).toBeGreaterThanOrEqual(10 * HOUR);
    expect(second.now()).toBeLessThan(10 * HOUR + 1000);
  });

  test('is not held for hours by a time that was stored under a wrong clock', async () => {
    const file = newFile();
    const wrong = await opened(file, { clock: () => 20 * HOUR });
    await create(wrong, newTask(wrong));
    await wrong.close();
    const right = await opened(file, { clock: () => 10 * HOUR });
    expect(right.now()).toBe(10 * HOUR);
    await create(right, newTask(right));
    await right.close();
    expect((await opened(file, { clock: () => 10 * HOUR - 1000 })).now()).toBe(10 * HOUR);
  });

  test('of whoever waits for the tasks follows that of their owner, who met a step back', async () => {
    const file = newFile();
    let time = 10 * HOUR;
    const clock = () => time;
    const first = await opened(file, { clock });
    first.own(() => undefined);
    await create(first, newTask(first));
    time = 9 * HOUR;
    const second = await opened(file, { clock });
    second.own(() => undefined);
    expect(second.now()).toBe(9 * HOUR);
    await expect.poll(() => second.now(), { timeout: 5000 }).toBe(10 * HOUR);
    time += 1000;
    expect([first.now(), second.now()]).toEqual([10 * HOUR + 1000, 10 * HOUR + 1000]);
  });

  test('of the owner is never behind what others have written, however long it stands still after a step back', async () => {
    const file = newFile();
    const time = { owner: 10 * HOUR, other: 10 * HOUR };
    const owner = await opened(file, { clock: () => time.owner });
    owner.own(() => undefined);
    owner.onForeignCommit(() => undefined);
    await create(owner, newTask(owner));
    const other = await opened(file, { clock: () => time.other });
    time.other += 700; // it looks at the clock right before the step, and the owner does not
    other.now();
    time.owner = time.other = 10 * HOUR - 60_000;
    const task = await create(other, newTask(other));
    await expect.poll(() => owner.due(task.wakeAt! - 1, owner.now())).toEqual([{ id: task.id, wakeAt: task.wakeAt }]);
    expect(owner.now()).toBe(10 * HOUR + 700);
    time.other = 10 * HOUR + 800;
    const wakeAt = 10 * HOUR + 900;
    await other.change(task.id, (current) => {
      time.other = wakeAt; // a command takes time
      return { task: { ...current, wakeAt: other.now() } };
    });
    await expect.poll(() => owner.due(wakeAt - 1, owner.now())).toEqual([{ id: task.id, wakeAt }]);
  });

  test('that was wrong makes nobody wait: what was due by it is due', async () => {
    const file = newFile();
    const wrong = await opened(file, { clock: () => 20 * HOUR });
    const [due, later] = [newTask(wrong), { ...newTask(wrong), wakeAt: 21 * HOUR }];
    await Promise.all([create(wrong, due), create(wrong, later)]);
    await wrong.close();
    const right = await opened(file, { clock: () => 10 * HOUR });
    expect(await right.due(-Infinity, right.now())).toEqual([]);
    right.own(() => undefined);
    expect(await right.due(-Infinity, right.now())).toEqual([{ id: due.id, wakeAt: 10 * HOUR }]);
    expect(await right.read(later.id)).toEqual(later);
  });
});

/** Another connection to a store's file. */
class Raw implements Disposable {
  readonly db: Database.Database;

  constructor(file: string) {
    this.db = new Database(file);
  }

  rows(): unknown {
    return this.db.prepare('SELECT count(*) FROM task').pluck().get();
  }

  rowsTaken(): number {
    return this.db.prepare("SELECT value FROM meta WHERE name = 'next_row'").pluck().get() as number;
  }

  logPages(): number {
    return (this.db.prepare('PRAGMA wal_checkpoint(NOOP)').raw().get() as number[])[1]!;
  }

  [Symbol.dispose](): void {
    this.db.close();
  }
}
