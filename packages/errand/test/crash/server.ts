import { createErrand, jsonSchema } from '../../src/index.ts';
import { sqlite } from '../../src/stores/sqlite.ts';
import { openDiary } from './diary.ts';
import { doomed, type Point } from './doom.ts';
import { effectsOf, openLedger, readLedger } from './ledger.ts';
import { SCENARIOS } from './scenarios.ts';

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

for (const { name, options, handler } of SCENARIOS) {
  // The number has no use but to give each call arguments of its own.
  const inputSchema = jsonSchema({ type: 'object', properties: { number: { type: 'integer' } } });
  errand.tool(name, { pollInterval: '20ms', ...options, inputSchema }, async (_, task) => {
    const tookPlace = (step: string) =>
      effectsOf(readLedger(ledgerFile)).some((effect) => effect.task === task.id && effect.step === step);
    const diary = openDiary(task, ledger, tookPlace);
    const text = await handler(diary);
    return { content: [{ type: 'text', text }], structuredContent: { seen: diary.seen as never } };
  });
}

process.on('disconnect', () => process.exit());
const { url } = await errand.serve({ port: 0, path });
process.send!(url);
