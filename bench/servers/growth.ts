// Errand over a SQLite file that may hold very many tasks; it tells how late its event loop is, and how long commits take.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { ANONYMOUS, createErrand } from 'errand';
import { sqlite } from 'errand/sqlite';
import { quantile } from '../load.ts';
import { tell } from '../serving.ts';

const [file = 'bench.db'] = process.argv.slice(2);
const store = sqlite(file);
const errand = createErrand({
  name: 'bench',
  version: '1.0.0',
  // The load is one principal that does nothing but call and poll; all else is as it comes.
  limits: { pollsPerSecond: Infinity, liveTasks: Infinity },
  store,
});
errand.tool('job', { task: 'always' }, (_args, _task) => 'done');

const delay = monitorEventLoopDelay({ resolution: 1 });
let commits: number[] = [];
store.onCommit!(({ ms }) => commits.push(ms));

tell((await errand.serve({ port: 0 })).url, {
  /** Begins to measure anew. */
  watch() {
    commits = [];
    delay.reset();
    delay.enable();
  },
  /** What was measured since, in ms. A loop that does nothing shows the resolution, 1 ms. */
  delays() {
    delay.disable();
    commits.sort((one, other) => one - other);
    return { loop: delay.percentile(99.9) / 1e6, commit: quantile(commits, 0.999), commits: commits.length };
  },
  /** The latest task, with all that is kept of it. */
  async latest() {
    const task = (await errand.list(ANONYMOUS, { limit: 1 })).tasks[0]!;
    return { task, entries: await store.journal(task.id), events: await store.events(task.id, 0, 1000) };
  },
});
