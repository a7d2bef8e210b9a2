import Database from 'better-sqlite3';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Checkpoints, logReader, type LogState } from './checkpoints.ts';

const folder = mkdtempSync(join(tmpdir(), 'errand-checkpoints-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
let file: string;
let writer: { readonly db: Database.Database; readonly log: () => LogState };
let checkpoints: Checkpoints;

beforeEach(() => {
  file = join(folder, `${++files}.db`);
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma('wal_autocheckpoint = 0');
  db.exec('CREATE TABLE data (bytes)');
  writer = { db, log: logReader(db) };
  checkpoints = new Checkpoints(file);
});
afterEach(async () => {
  await checkpoints.close();
  writer.db.close();
});

/** Commits about so many pages. */
function write(pages: number): void {
  writer.db.prepare('INSERT INTO data VALUES (zeroblob(?))').run(pages * 4096);
  checkpoints.consider(writer);
}

test('a log that grew is brought into the file in the background', async () => {
  const own = vi.spyOn(writer.db, 'pragma');
  write(1100);
  const before = writer.log();
  expect(before.copied).toBe(0);
  await vi.waitFor(() => expect(writer.log().copied).toBe(before.pages), 5000);
  expect(own).not.toHaveBeenCalled();
});

test('a short log is left alone', async () => {
  write(100);
  await sleep(200);
  expect(writer.log().copied).toBe(0);
});

test('the log begins anew though writes never pause', { timeout: 60_000 }, async () => {
  for (let restarts = 0, before = 0; restarts < 3;) {
    write(100);
    const { pages } = writer.log();
    if (pages < before) restarts++;
    before = pages;
    await new Promise(setImmediate);
  }
});

test('writers are not made to wait again and again for a reader that takes long', { timeout: 60_000 }, async () => {
  const asked = vi.spyOn(Worker.prototype, 'postMessage');
  const times = (mode: string) => asked.mock.calls.filter(([modes]) => (modes as string[]).includes(mode)).length;
  const reader = new Database(file, { readonly: true });
  reader.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
  for (let writes = 0; writes < 400; writes++) {
    write(20);
    await sleep(1);
  }
  reader.close();
  expect(times('RESTART')).toBeGreaterThan(0);
  expect(times('RESTART')).toBeLessThan(times('PASSIVE') / 4);
  asked.mockRestore();
});

test('where the background does not come round, whoever commits brings the log in', { timeout: 60_000 }, () => {
  // No turn of the event loop: the thread is asked once, so at most one of two new beginnings is its doing.
  let restarts = 0;
  for (let writes = 0, before = 0; restarts < 2 && writes < 1000; writes++) {
    write(100);
    const { pages } = writer.log();
    if (pages < before) restarts++;
    before = pages;
  }
  expect(restarts).toBe(2);
});

test('where the background is broken, whoever commits brings the log in', async () => {
  await checkpoints.close();
  checkpoints = new Checkpoints(join(folder, 'missing', 'missing.db'));
  write(1100);
  await vi.waitFor(() => {
    write(1);
    expect(writer.log().copied).toBeGreaterThan(1100);
  }, 5000);
});

test('closing waits for the thread to end, and is harmless where there is none', async () => {
  await checkpoints.close();
  write(1100);
  await checkpoints.close();
  await checkpoints.close();
});
