import { createErrand, jsonSchema, type TaskContext } from '../../src/index.ts';
import { sqlite } from '../../src/stores/sqlite.ts';
import { openDiary, type Diary } from './diary.ts';
import { doomed, type Point } from './doom.ts';
import { effectsOf, openLedger, readLedger } from './ledger.ts';
import { SCENARIOS } from './scenarios.ts';
import { PARTS } from './scenarios/graphs.ts';

// The server that is killed: `server.mjs TASKS LEDGER LIFE PATH WATCHED [POINT]`. It tells its endpoint to whoever
// forked it, and ends with that process.

const [tasks, ledgerFile, life, path, watched, point] = process.argv.slice(2) as [
  tasks: string,
  ledger: string,
  life: string,
  path: string,
  watched: 'watched' | 'alone',
  point?: string,
];
const ledger = openLedger(ledgerFile, Number(life));
const plain = sqlite(tasks);
// At random moments the store is the user's own; only commit points need an eye on it.
const store =
  watched === 'watched' ? doomed(plain, ledger, point === undefined ? undefined : (JSON.parse(point) as Point)) : plain;
const errand = createErrand({ name: 'errand-crash', version: '1.0.0', store });

async function perform(task: TaskContext, work: (diary: Diary) => Promise<string>) {
  const timesOf = (step: string) =>
    effectsOf(readLedger(ledgerFile)).filter((effect) => effect.task === task.id && effect.step === step).length;
  const diary = openDiary(task, ledger, timesOf);
  const text = await work(diary);
  return { content: [{ type: 'text', text }], structuredContent: { seen: diary.seen as never } };
}

for (const { name, options, handler } of SCENARIOS) {
  // The number has no use but to give each call arguments of its own.
  const inputSchema = jsonSchema({ type: 'object', properties: { number: { type: 'integer' } } });
  errand.tool(name, { pollInterval: '20ms', ...options, inputSchema }, (_, task) => perform(task, handler));
}
for (const { name, options, handler } of PARTS) {
  const inputSchema = jsonSchema({ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] });
  errand.tool(name, { ...options, inputSchema }, (args, task) =>
    perform(task, (diary) => handler(diary, (args as { name: string }).name)),
  );
}

process.on('disconnect', () => process.exit());
const { url } = await errand.serve({ port: 0, path });
process.send!(url);
