import { randomBytes } from 'node:crypto';
import { link, lstat, open, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { isErrno, keepSecret } from './secret.ts';

// Text, because a worker of a `.ts` file would need whatever loader runs this one. Errors of SQLite do not pass.
const WORKER = `
  const { workerData } = require('node:worker_threads');
  const Database = require(workerData.driver);
  try {
    const db = new Database(workerData.file, { readonly: true, fileMustExist: true });
    db.prepare('VACUUM INTO ?').run(workerData.copy);
    db.close();
  } catch (error) {
    throw new Error(error.message);
  }
`;

/** What belongs to a database file by its name: beside a new one, what an old one left would be taken for its own. */
const BELONGINGS = ['', '-wal', '-journal', '-shm'];
/** What a file system says that knows no hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/**
 * Copies a database, as it is at one moment, to a path where nothing is, with the secret that
 * belongs to it. Commits go on meanwhile. What is there under that path is whole, whenever this is
 * interrupted; a `.partial` file may be left beside it.
 */
export async function backUp(file: string, copy: string, secret: Uint8Array): Promise<void> {
  await assertFree(copy);
  const partial = `${copy}.${process.pid}-${randomBytes(6).toString('hex')}.partial`;
  try {
    await copyOffThread(file, partial);
    await sync(partial);
    // The secret comes first: a copy that is there is complete.
    await keepSecret(`${copy}.secret`, secret);
    await giveName(partial, copy);
    await sync(dirname(copy));
  } finally {
    await rm(partial, { force: true });
  }
}

async function assertFree(copy: string): Promise<void> {
  for (const belonging of BELONGINGS) {
    if (await isThere(copy + belonging)) throw taken(copy + belonging);
  }
}

function copyOffThread(file: string, copy: string): Promise<void> {
  const driver = createRequire(import.meta.url).resolve('better-sqlite3');
  const worker = new Worker(WORKER, { eval: true, execArgv: [], workerData: { driver, file, copy } });
  return new Promise((resolve, reject) => {
    worker.once('error', (cause) =>
      reject(new Error(`${file} cannot be copied to ${copy}: ${cause.message}`, { cause })),
    );
    worker.once('exit', () => resolve());
  });
}

/** Never replaces what has got that name meanwhile, where the file system can tell. */
async function giveName(partial: string, copy: string): Promise<void> {
  try {
    await link(partial, copy);
  } catch (thrown) {
    if (isErrno(thrown, 'EEXIST')) throw taken(copy);
    if (!NO_LINKS.some((code) => isErrno(thrown, code))) throw thrown;
    await assertFree(copy);
    await rename(partial, copy);
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } catch (thrown) {
    // Windows does not sync folders.
    if (!isErrno(thrown, 'EPERM')) throw thrown;
  } finally {
    await handle.close();
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return false;
    throw thrown;
  }
}

function taken(path: string): Error {
  return new Error(`${path} is there already; give the backup a name of its own`);
}
