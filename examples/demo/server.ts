import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { createErrand } from 'errand';
import { sqlite } from 'errand/sqlite';
import { addCompare } from './compare.ts';
import { addHashTree } from './hash-tree.ts';
import type { Place } from './place.ts';
import { addThumbnails } from './thumbnails.ts';
import { howToCall } from './welcome.ts';

export interface DemoOptions extends Place {
  readonly port: number;
}

/** Serves the three tools until a signal; then lets what runs come to a safe stop, and exits with 0. */
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

  const onClosed = (): void => console.log('Stopped. Unfinished tasks go on when the server starts again.');
  const { url } = await errand.serve({ port, handleSignals: { onClosed } }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    console.error(`Port ${port} is taken. Free it, or take another: npm start -- --port ${port + 1}`);
    process.exit(1);
  });
  console.log(howToCall(url));
  tellOfSignals();
}

/** Says what becomes of the server when it is told to stop. */
function tellOfSignals(): void {
  const stopping = (): void => {
    clearInterval(watch);
    for (const signal of SIGNALS) process.off(signal, stopping);
    console.log('\nStopping: no more calls; running steps may end (10 s at most). Ctrl-C again to stop at once.');
    process.on('exit', (code) => {
      if (code !== 0) console.log('Stopped at once. Tasks go on from their last step when the server starts again.');
    });
  };
  for (const signal of SIGNALS) process.on(signal, stopping);
  // A SIGTERM for npm ends npm and the shell between us, and never gets here.
  const parent = process.ppid;
  const orphaned = (): boolean => process.ppid !== parent && process.kill(process.pid, 'SIGTERM');
  const watch = process.env.npm_lifecycle_event === 'start' ? setInterval(orphaned, 500).unref() : undefined;
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
