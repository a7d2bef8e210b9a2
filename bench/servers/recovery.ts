// Errand over one SQLite file, with a tool whose one step either never ends, or is done at once.
import { createErrand } from 'errand';
import { sqlite } from 'errand/sqlite';
import * as z from 'zod';
import { tell } from '../serving.ts';

const [file = 'bench.db', tasks = '1', effect] = process.argv.slice(2);
const store = sqlite(file);
const errand = createErrand({
  name: 'bench',
  version: '1.0.0',
  concurrency: Number(tasks),
  limits: { pollsPerSecond: Infinity, liveTasks: Infinity, queuedRuns: Infinity },
  store,
});
let effects = 0;
errand.tool('square', { task: 'always', inputSchema: z.object({ n: z.number() }) }, async ({ n }, task) => {
  const square = await task.step('multiply', async () => {
    effects++;
    if (effect === 'waits') await new Promise(() => undefined);
    return n * n;
  });
  return String(square);
});
let ended = 0;
store.subscribe(({ outcome }) => {
  if (outcome !== undefined) ended++;
});
tell((await errand.serve({ port: 0 })).url, { counts: () => ({ effects, ended }) });
