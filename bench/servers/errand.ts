// What is measured: Errand as `npm start` runs it, HTTP over a SQLite file, with the least of tools.
import path from 'node:path';
import { createErrand } from 'errand';
import { sqlite } from 'errand/sqlite';
import * as z from 'zod';
import { tell } from '../serving.ts';

const [folder = '.'] = process.argv.slice(2);
const errand = createErrand({
  name: 'bench',
  version: '1.0.0',
  // The load is one principal that does nothing but call and poll; all else is as it comes.
  limits: { pollsPerSecond: Infinity, liveTasks: Infinity },
  store: sqlite(path.join(folder, 'bench.db')),
});
errand.tool('job', { task: 'always' }, (_args, _task) => 'done');
errand.tool('approval', { task: 'always' }, async (_args, task) => {
  await task.elicit('go', { message: 'Go?', schema: z.object({ go: z.boolean() }) });
  return 'done';
});
tell((await errand.serve({ port: 0 })).url);
