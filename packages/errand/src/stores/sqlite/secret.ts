import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';

const BYTES = 32;

/**
 * The secret kept in a file, made where there is none. Processes that start at once agree: each
 * writes a whole file of its own, and only one of them gets the name.
 */
export async function secretIn(file: string): Promise<Uint8Array> {
  const kept = await readSecret(file);
  if (kept !== undefined) return kept;
  const own = `${file}.${process.pid}-${randomBytes(6).toString('hex')}`;
  await writeSecret(own, randomBytes(BYTES));
  try {
    await link(own, file);
  } catch (thrown) {
    if (!isErrno(thrown, 'EEXIST')) throw thrown;
  } finally {
    await rm(own, { force: true });
  }
  return (await readSecret(file))!;
}

/** Keeps a secret in a file of its own. Throws where another one is there. */
export async function keepSecret(file: string, secret: Uint8Array): Promise<void> {
  try {
    await writeSecret(file, secret);
  } catch (cause) {
    if (!isErrno(cause, 'EEXIST')) throw cause;
    if ((await readFile(file)).equals(secret)) return;
    throw new Error(`${file} is there already, and is not the secret of this store`, { cause });
  }
}

async function readSecret(file: string): Promise<Uint8Array | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return undefined;
    throw thrown;
  }
  if (bytes.length === BYTES) return bytes;
  throw new Error(
    `${file} should hold ${BYTES} bytes and holds ${bytes.length}; restore it, or remove it to have a new secret made`,
  );
}

async function writeSecret(file: string, secret: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(secret);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export function isErrno(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && (thrown as NodeJS.ErrnoException).code === code;
}
