import Database from 'better-sqlite3';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { finish } from '../../task/transitions.ts';
import { sqlite } from '../sqlite.ts';
import { create, newTask } from '../suite/subject.suite.ts';
import { Ids } from './ids.ts';
import { first } from './migrations/first.ts';
import { migrate } from './migrations.ts';

const folder = mkdtempSync(join(tmpdir(), 'errand-migrations-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** Tables and indexes, by their statements. */
function schemaOf(db: Database.Database): unknown[] {
  return db.prepare('SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name').all();
}

/** A file as the first version made it, with a task in each state that it knew. */
function firstFile() {
  const file = join(folder, `${++files}.db`);
  const db = new Database(file);
  db.pragma('auto_vacuum = INCREMENTAL');
  db.pragma('journal_mode = WAL');
  db.pragma('foreign_keys = ON');
  first(db);
  db.pragma(`application_id = ${0x45726e64}`);
  db.pragma('user_version = 1');
  const ids = new Ids(db);
  const [waiting, ended, held] = [ids.next(), ids.next(), ids.next()];
  const task = db.prepare(`
    INSERT INTO task (row, nonce, version, entries, principal, status, status_message, progress_done, progress_total,
      inputs, outcome, created_at, last_updated_at, deadline_at, expires_at, poll_interval_ms, epoch, wake_at, runs, held)
    VALUES (?, ?, ?, ?, 'local', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1000, ?, ?, ?, ?)`);
  const call = db.prepare(`INSERT INTO call VALUES (?, 'work', '2', 'seed', ?, ?, ?)`);
  const places = [waiting, ended, held].map((id) => ids.unseal(id)!);
  const [a, b, c] = places.map(({ row, nonce }) => [row, nonce] as const);
  const inputs = '{"go":{"request":{"method":"roots/list","params":{}},"state":"open"}}';
  const outcome = '{"kind":"result","result":{"content":[{"type":"text","text":"ü"}]}}';
  task.run(...a!, 3, 2, 'input_required', 'half', 1.5, 3, inputs, null, 10, 20, 1e15, 2e15, 0, 500, 0, null);
  task.run(...b!, 2, 0, 'completed', null, 2, null, null, outcome, 11, 21, 1e15, 2e15, 1, null, 1, null);
  task.run(...c!, 2, 0, 'working', 'no code', null, null, null, null, 12, 22, 1e15, 2e15, 0, null, 0, 'no code');
  call.run(a![0], '{"n":1}', '{"found":true}', '{"roots":true}');
  call.run(b![0], '{}', null, null);
  call.run(c![0], '{}', null, null);
  const journal = db.prepare('INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
  journal.run(a![0], 0, null, 'step', 'a', 1, null, null);
  journal.run(a![0], 1, 0, null, null, null, '"ok"', null);
  db.close();
  return { file, waiting, ended, held };
}

describe('a file of the first version', () => {
  test('is opened with all that is in it', async () => {
    const { file, waiting, ended, held } = firstFile();
    const store = sqlite(file);
    await store.open();
    const fixed = { principal: 'local', tool: 'work', toolVersion: '2', seed: 'seed', pollIntervalMs: 1000 };
    const times = { deadlineAt: 1e15, expiresAt: 2e15 };
    expect(await store.read(waiting)).toStrictEqual({
      ...fixed,
      ...times,
      id: waiting,
      version: 3,
      arguments: { n: 1 },
      prepared: { found: true },
      capabilities: { roots: true },
      status: 'input_required',
      statusMessage: 'half',
      progress: { done: 1.5, total: 3 },
      inputs: { go: { request: { method: 'roots/list', params: {} }, state: 'open' } },
      createdAt: 10,
      lastUpdatedAt: 20,
      epoch: 0,
      wakeAt: 500,
      runs: 0,
      events: 0,
    });
    expect(await store.read(ended)).toStrictEqual({
      ...fixed,
      ...times,
      id: ended,
      version: 2,
      arguments: {},
      capabilities: {},
      status: 'completed',
      progress: { done: 2 },
      inputs: {},
      outcome: { kind: 'result', result: { content: [{ type: 'text', text: 'ü' }] } },
      createdAt: 11,
      lastUpdatedAt: 21,
      epoch: 1,
      runs: 1,
      events: 0,
    });
    expect(await store.journal(waiting)).toStrictEqual([
      { seq: 0, type: 'begin', kind: 'step', name: 'a', ordinal: 1 },
      { seq: 1, type: 'end', begin: 0, outcome: { value: 'ok' } },
    ]);
    expect(await store.due(0, 1000)).toEqual([{ id: waiting, wakeAt: 500 }]);
    expect(await store.held()).toEqual([held]);
    expect(await store.live('local')).toBe(2);
    expect((await store.list('local', { limit: 9 })).map(({ id }) => id)).toEqual([held, ended, waiting]);
    await store.close();
  });

  test('goes on: its tasks change and expire, and new ones are made', async () => {
    const { file, waiting } = firstFile();
    const store = sqlite(file);
    await store.open();
    const result = { kind: 'result', result: { content: [] } } as const;
    await store.change(waiting, (task) => ({
      task: finish(task, result, store.now()),
      entries: [{ seq: 2, type: 'begin', kind: 'now', name: 'now', ordinal: 1, value: 1 }],
      events: [{ kind: 'parked' }],
    }));
    expect(await store.journal(waiting)).toHaveLength(3);
    expect(await store.events(waiting, 0, 9)).toMatchObject([{ seq: 1, kind: 'parked' }]);
    const made = await create(store, newTask(store));
    expect(await store.live('local')).toBe(2);
    expect(await store.expire(2e15, 10)).toBe(4);
    expect(await store.read(made.id)).toBeUndefined();
    await store.close();
    const db = new Database(file);
    for (const table of ['task', 'call', 'journal', 'event']) {
      expect(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()).toBe(0);
    }
    db.close();
  });

  test('comes to be as a new file is', () => {
    const { file } = firstFile();
    const [older, newer] = [new Database(file), new Database(':memory:')];
    migrate(older);
    migrate(newer);
    expect(schemaOf(older)).toEqual(schemaOf(newer));
    expect(older.pragma('user_version', { simple: true })).toBe(newer.pragma('user_version', { simple: true }));
    expect(older.pragma('auto_vacuum', { simple: true })).toBe(2);
    older.close();
    newer.close();
  });

  test('stays as it is where its migration fails, and can be opened later', async () => {
    const { file, waiting } = firstFile();
    const db = new Database(file);
    db.exec('CREATE TABLE event (theirs)');
    const before = schemaOf(db);
    await expect(sqlite(file).open()).rejects.toThrow('event');
    expect(schemaOf(db)).toEqual(before);
    db.exec('DROP TABLE event');
    db.close();
    const store = sqlite(file);
    await store.open();
    expect(await store.read(waiting)).toBeDefined();
    await store.close();
  });
});
