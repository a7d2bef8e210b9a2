import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Gathering, openBatches } from './batches.ts';
import type { Writer } from './batches.ts';

/** Node 20 starts a worker without the loader that reads TypeScript, so that the worker has to take it itself. */
const START = `import('tsx/esm/api').then(({ register }) => {
  register();
  return import(${JSON.stringify(import.meta.url)});
});`;

/** Commits on a thread that has a connection of its own and gets each batch as a message. */
export async function threadWriter(file: string): Promise<Writer> {
  const worker = new Worker(START, { eval: true, workerData: file });
  await once(worker, 'online');
  /** Batches under way, in the order in which they are done. */
  const underWay: (readonly (() => void)[])[] = [];
  worker.on('message', () => {
    for (const resolve of underWay.shift() ?? []) resolve();
  });
  const gathering = new Gathering((values, done) => {
    underWay.push(done);
    worker.postMessage(values);
  });
  return {
    write: (value) => gathering.add(value),
    async close() {
      worker.postMessage(undefined);
      await once(worker, 'exit');
    },
  };
}

if (!isMainThread) {
  const { commit, close } = openBatches(workerData as string);
  parentPort!.on('message', (values: readonly string[] | undefined) => {
    if (values === undefined) {
      close();
      parentPort!.close();
      return;
    }
    commit(values);
    parentPort!.postMessage(undefined);
  });
}
