import Database from 'better-sqlite3';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, expect, test } from 'vitest';
import { ask, describe as describeTask } from '../../task/transitions.ts';
import { sqlite, type SqliteStore } from '../sqlite.ts';
import { begin, create, newTask } from '../suite/subject.suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'errand-backup-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${++files}`, 'tasks.db');

const stores: SqliteStore[] = [];
async function opened(file = newFile()): Promise<SqliteStore> {
  const store = sqlite(file);
  await store.open();
  stores.push(store);
  return store;
}
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
});

test('a copy serves as the file did, with its secret', async () => {
  const store = await opened();
  const task = await create(store, { ...newTask(store), idempotency: { key: 'once', digest: 'd' } }, [begin(0, 'a')]);
  const asked = await store.change(task.id, (now) => ({
    task: ask(now, 'go', { method: 'roots/list', params: {} }, store.now()),
    events: [{ kind: 'asked', key: 'go' }],
  }));
  const copy = newFile();
  await store.backup(copy);
  const restored = await opened(copy);
  expect(await restored.read(task.id)).toEqual(asked);
  expect(await restored.journal(task.id)).toEqual([begin(0, 'a')]);
  expect(await restored.events(task.id, 0, 9)).toMatchObject([{ kind: 'asked', seq: 1 }]);
  expect(await restored.secret()).toEqual(await store.secret());
  if (process.platform !== 'win32') expect(statSync(`${copy}.secret`).mode & 0o777).toBe(0o600);
  // It goes on: changes, new ids, keys that are taken.
  expect(await restored.change(task.id, (now) => ({ task: describeTask(now, 'on', now.lastUpdatedAt) }))).toMatchObject(
    { statusMessage: 'on', version: 3 },
  );
  expect(await create(restored, newTask(restored))).toMatchObject({ status: 'working' });
  const again = { ...newTask(restored), idempotency: { key: 'once', digest: 'd' } };
  expect(await create(restored, again)).toMatchObject({ id: task.id });
});

test('a copy without its secret has the tasks, under the same ids, and a secret of its own', async () => {
  const store = await opened();
  const task = await create(store, newTask(store));
  const copy = newFile();
  await store.backup(copy);
  rmSync(`${copy}.secret`);
  const restored = await opened(copy);
  expect(await restored.read(task.id)).toEqual(task);
  expect(await restored.secret()).not.toEqual(await store.secret());
});

test('a copy is of one moment, and commits go on while it is made', { timeout: 60_000 }, async () => {
  const store = await opened();
  const big = { text: 'x'.repeat(5000) };
  const make = () => create(store, { ...newTask(store), arguments: big });
  const pair = (await Promise.all([make(), make()])).map(({ id }) => id);
  for (let made = 0; made < 4000; made += 500) await Promise.all(Array.from({ length: 500 }, make));
  const state = { rounds: 0, done: false };
  const writing = (async () => {
    while (!state.done) {
      await Promise.all(
        pair.map((id) =>
          store.change(id, (task) => ({ task: { ...task, runs: task.runs + 1 }, events: [{ kind: 'parked' }] })),
        ),
      );
      state.rounds++;
    }
  })();
  const copy = newFile();
  const before = state.rounds;
  await store.backup(copy);
  expect(state.rounds).toBeGreaterThan(before + 1);
  state.done = true;
  await writing;
  const restored = await opened(copy);
  expect(await restored.live('local')).toBe(4002);
  const [one, other] = await Promise.all(pair.map((id) => restored.read(id)));
  expect(one!.runs).toBe(other!.runs);
  expect(one!.events).toBe(one!.runs);
  expect(one!.runs).toBeLessThanOrEqual(state.rounds);
  const raw = new Database(copy);
  expect(raw.pragma('integrity_check', { simple: true })).toBe('ok');
  raw.close();
});

test('nothing that is there is overwritten', async () => {
  const store = await opened();
  await store.backup(newFile());
  for (const suffix of ['', '-wal', '.secret']) {
    const copy = join(folder, `taken${suffix}.db`);
    writeFileSync(copy + suffix, 'theirs');
    await expect(store.backup(copy)).rejects.toThrow('is there already');
    expect(readFileSync(copy + suffix, 'utf8')).toBe('theirs');
    expect(existsSync(copy)).toBe(suffix === '');
  }
  expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual([]);
});

test('of a damaged file there is no copy, and what is wrong is said', async () => {
  const file = newFile();
  const store = await opened(file);
  const big = { text: 'x'.repeat(3000) };
  await Promise.all(Array.from({ length: 50 }, () => create(store, { ...newTask(store), arguments: big })));
  await store.close();
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.alloc(50_000, 0x5a), 0, undefined, 80_000);
  closeSync(descriptor);
  await store.open();
  const copies = mkdtempSync(join(folder, 'copies-'));
  await expect(store.backup(join(copies, 'copy.db'))).rejects.toThrow(
    /tasks\.db cannot be copied to .*copy\.db.*: database disk image is malformed/,
  );
  expect(readdirSync(copies)).toEqual([]);
});

test('tasks in memory, and those of a closed store, are refused', async () => {
  const store = await opened(':memory:');
  await expect(store.backup(newFile())).rejects.toThrow('in memory');
  await store.close();
  await expect(store.backup(newFile())).rejects.toMatchObject({ kind: 'storeAway' });
});

test('a process that dies in the middle leaves nothing under the name of the copy', { timeout: 60_000 }, async () => {
  const file = newFile();
  const store = await opened(file);
  const big = { text: 'x'.repeat(10_000) };
  for (let made = 0; made < 3000; made += 500) {
    await Promise.all(Array.from({ length: 500 }, () => create(store, { ...newTask(store), arguments: big })));
  }
  const copies = mkdtempSync(join(folder, 'copies-'));
  const copy = join(copies, 'copy.db');
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const code = `
    const { sqlite } = await import(${JSON.stringify(new URL('../sqlite.ts', import.meta.url).href)});
    const store = sqlite(${JSON.stringify(file)});
    await store.open();
    await store.backup(${JSON.stringify(copy)});
  `;
  const child = spawn(process.execPath, ['--import', loader, '--input-type=module', '-e', code], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const isUnderWay = () =>
    readdirSync(copies).some((name) => name.endsWith('.partial') && statSync(join(copies, name)).size > 0);
  await expect.poll(isUnderWay, { timeout: 20_000, interval: 1 }).toBe(true);
  child.kill('SIGKILL');
  await ended;
  expect(existsSync(copy)).toBe(false);
  await store.backup(copy);
  expect(await (await opened(copy)).live('local')).toBe(3000);
});
