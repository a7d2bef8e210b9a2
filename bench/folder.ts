import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Gives `work` a folder of its own, which is gone afterwards, also where somebody stops the program. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(path.join(tmpdir(), 'errand-bench-'));
  // Servers may still write into it for a moment.
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  const stop = (): void => {
    remove();
    process.exit(1);
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work(folder);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    remove();
  }
}
