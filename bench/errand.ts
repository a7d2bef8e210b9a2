// What is measured: Errand as `npm start` runs it, HTTP over a SQLite file, with the least of tools.
import path from 'node:path';
import { createErrand } from 'errand';
import { sqlite } from 'errand/sqlite';
import { tell } from './serving.ts';

const [folder = '.'] = process.argv.slice(2);
const errand = createErrand({
  limits: { pollsPerSecond: Infinity, liveTasks: Infinity },
  name: 'bench',
  version: '1.0.0',
  store: sqlite(path.join(folder, 'bench.db')),
});
errand.tool('instant', { task: 'auto' }, () => 'done');
errand.tool('job', { task: 'always' }, (_args, task) => task.step('work', () => 'done'));
tell((await errand.serve({ port: 0 })).url);
