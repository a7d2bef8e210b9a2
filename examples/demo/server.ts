import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { createErrand, type Errand } from 'errand';
import { sqlite } from 'errand/sqlite';
import { addCompare } from './compare.ts';
import { addHashTree } from './hash-tree.ts';
import type { Place } from './place.ts';
import { addThumbnails } from './thumbnails.ts';
import { howToCall } from './welcome.ts';

export interface DemoOptions extends Place {
  readonly port: number;
}

/** Serves the three tools until SIGINT or SIGTERM; then lets what runs come to a safe stop, and exits with 0. */
export async function serveDemo({ port, root, data }: DemoOptions): Promise<void> {
  mkdirSync(data, { recursive: true });
  const errand = createErrand({
    name: 'errand-demo',
    version: '1.0.0',
    instructions: `Hashes, shrinks and compares files below ${root}.`,
    store: sqlite(path.join(data, 'errand.db')),
  });
  const place = { root, data };
  addHashTree(errand, place);
  addThumbnails(errand, place);
  addCompare(errand, place);

  const { url } = await errand.serve({ port }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    console.error(`Port ${port} is taken. Free it, or take another: npm start -- --port ${port + 1}`);
    process.exit(1);
  });
  console.log(howToCall(url));
  drainOnSignal(errand);
}

/** Comes to a safe stop on the first signal, and to any stop on the second. */
function drainOnSignal(errand: Errand): void {
  let since: number | undefined;
  const drain = (): void => {
    if (since !== undefined) return;
    since = Date.now();
    console.log('\nStopping: no more calls; running steps may end (10 s at most). Ctrl-C again to stop at once.');
    void errand.close().then(() => {
      console.log('Stopped. Unfinished tasks go on when the server starts again.');
      process.exit(0);
    });
  };
  process.on('SIGTERM', drain);
  process.on('SIGHUP', drain); // the terminal was closed
  process.on('SIGINT', () => {
    // npm passes on a Ctrl-C that the terminal sent to us already: the same one, a moment later.
    if (since === undefined || Date.now() - since < 300) return drain();
    console.log('Stopped at once. Tasks go on from their last step when the server starts again.');
    process.exit(130);
  });
  // A SIGTERM for npm ends npm and the shell between us, and never gets here.
  if (process.env.npm_lifecycle_event === 'start') {
    const parent = process.ppid;
    setInterval(() => process.ppid !== parent && drain(), 500).unref();
  }
}
