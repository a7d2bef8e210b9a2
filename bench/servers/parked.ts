// Errand over one SQLite file, with a tool that takes a step and then asks.
import { createErrand } from 'errand';
import { sqlite } from 'errand/sqlite';
import * as z from 'zod';
import { tell } from '../serving.ts';

const [file = 'bench.db'] = process.argv.slice(2);
const store = sqlite(file);
const errand = createErrand({
  name: 'bench',
  version: '1.0.0',
  // The load is one principal that does nothing but call, sooner than it could be asked.
  concurrency: 256,
  limits: { pollsPerSecond: Infinity, liveTasks: Infinity, queuedRuns: Infinity },
  store,
});
let effects = 0;
errand.tool('ask', { task: 'always', inputSchema: z.object({ n: z.number() }) }, async ({ n }, task) => {
  const found = await task.step('look', () => {
    effects++;
    return n + 1;
  });
  const { action } = await task.elicit('go', { message: 'Go?', schema: z.object({ go: z.boolean() }) });
  return `${action} ${found}`;
});
tell((await errand.serve({ port: 0 })).url, {
  rss: () => process.memoryUsage.rss(),
  effects: () => effects,
  live: () => store.liveCounts!(),
  /** How many tasks have a run in memory, or are about to have one: all others are parked, or have ended. */
  awake: async () => (await store.due(-Infinity, store.now())).length,
});
