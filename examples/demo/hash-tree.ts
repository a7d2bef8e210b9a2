import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Errand } from 'errand';
import * as z from 'zod';
import { locate, type Place } from './place.ts';

const SKIPPED = new Set(['.git', 'node_modules', 'data', 'dist']);
const MOST_FILES = 20_000;
const BATCH = { files: 100, bytes: 64 * 2 ** 20 };

interface File {
  readonly name: string;
  readonly bytes: number;
}

/** `hash_tree`: one SHA-256 over a folder, in steps of some files each; after a crash it goes on with the next ones. */
export function addHashTree(errand: Errand, place: Place): void {
  errand.tool(
    'hash_tree',
    {
      title: 'Hash a folder',
      description: 'One SHA-256 over all files below a folder, by name and content.',
      inputSchema: z.object({ path: z.string().default('.').describe('A folder, from the root of the server') }),
      outputSchema: z.object({ digest: z.string(), files: z.number(), bytes: z.number() }),
      annotations: { readOnlyHint: true },
      task: 'always',
      pollInterval: '500ms',
    },
    async (args, task) => {
      const folder = await task.step('find the folder', () => locate(place, args.path));
      const files = await task.step('list files', () => list(folder));
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
      const digests: string[] = [];
      for (const batch of batches(files)) {
        digests.push(...(await task.step('hash files', ({ signal }) => hashAll(folder, batch, signal))));
        task.status(`${digests.length} of ${files.length} files hashed`);
      }
      const lines = files.map((file, index) => `${digests[index]}  ${file.name}\n`);
      const digest = createHash('sha256').update(lines.join('')).digest('hex');
      return {
        content: [{ type: 'text', text: `${digest}  ${args.path} (${files.length} files, ${bytes} bytes)` }],
        structuredContent: { digest, files: files.length, bytes },
      };
    },
  );
}

/** Regular files below a folder, in an order that is the same everywhere. */
async function list(folder: string): Promise<File[]> {
  const found: File[] = [];
  const folders = [''];
  for (let below = folders.pop(); below !== undefined; below = folders.pop()) {
    for (const entry of await readdir(path.join(folder, below), { withFileTypes: true })) {
      const name = path.posix.join(below, entry.name);
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) folders.push(name);
      if (entry.isFile()) found.push({ name, bytes: (await stat(path.join(folder, name))).size });
    }
    if (found.length > MOST_FILES) throw new Error(`More than ${MOST_FILES} files; choose a smaller folder.`);
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function* batches(files: readonly File[]): Generator<File[]> {
  let batch: File[] = [];
  let bytes = 0;
  for (const file of files) {
    batch.push(file);
    bytes += file.bytes;
    if (batch.length === BATCH.files || bytes >= BATCH.bytes) {
      yield batch;
      batch = [];
      bytes = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

async function hashAll(folder: string, files: readonly File[], signal: AbortSignal): Promise<string[]> {
  const digests: string[] = [];
  for (const { name } of files) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(path.join(folder, name)), hash, { signal });
    digests.push(hash.digest('hex'));
  }
  return digests;
}
