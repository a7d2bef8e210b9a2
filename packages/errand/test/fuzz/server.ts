import { pino } from 'pino';
import * as z from 'zod';
import { createErrand } from '../../src/index.ts';
import { RpcError } from '../../src/errors.ts';
import { sqlite } from '../../src/stores/sqlite.ts';
import { ANONYMOUS, LOCAL, principalKey } from '../../src/task/principal.ts';
import { sdkServer } from '../conformance/sdk-server.ts';
import type { Measure } from './subject.ts';

// The server that is fuzzed: `server.ts FILE http|stdio`. What it holds it tells its parent over IPC, when it is asked.

const [file, transport] = process.argv.slice(2) as [string, 'http' | 'stdio'];
const store = sqlite(file);
const errand = createErrand({
  name: 'errand-fuzz',
  version: '1.0.0',
  store,
  server: sdkServer,
  limits: { pollsPerSecond: Infinity },
  log: pino({ level: 'error' }, pino.destination({ dest: 2, sync: true })),
});

const TEXT = z.object({ text: z.string() });
const GO = z.object({ go: z.boolean(), why: z.string().optional() });
/** Tasks that nobody answers end by themselves, so that what is left when all is over is a leak. */
const SHORT = { deadline: '2s', retention: '1s', pollInterval: '50ms' } as const;

errand.tool('echo', { inputSchema: TEXT }, ({ text }) => text);
errand.tool('note', { inputSchema: TEXT, task: 'always', ...SHORT }, ({ text }, task) => task.step('note', () => text));
errand.tool('ask', { task: 'always', ...SHORT }, async (_args, task) => {
  const [go, roots] = await Promise.all([
    task.elicit('approve', { message: 'Go?', schema: GO }),
    task.can('roots') ? task.roots('where') : [],
  ]);
  return `${go.action} ${roots.length}`;
});
errand.tool('nap', { patience: '20ms', ...SHORT }, async (_args, task) => {
  await task.sleep('50ms');
  return 'rested';
});
errand.tool('broken', { task: 'always', ...SHORT }, () => {
  throw new RpcError(-31500, 'the printer is on fire', { printer: 3 });
});
errand.tool('rounds', { task: 'never' }, async (_args, task) => {
  const answer = await task.elicit('approve', { message: 'Go?', schema: GO });
  return answer.action;
});
const REGION = z.string().meta({ 'x-mcp-header': 'Region' });
errand.tool('routed', { inputSchema: z.object({ region: REGION }) }, ({ region }) => region);

async function measure(): Promise<Measure> {
  for (let round = 0; round < 4; round++) {
    globalThis.gc!();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { heapUsed, external } = process.memoryUsage();
  const handles: Record<string, number> = {};
  // An immediate is gone by the next turn of the event loop: the store has them for each read.
  for (const name of process.getActiveResourcesInfo().filter((name) => name !== 'Immediate'))
    handles[name] = (handles[name] ?? 0) + 1;
  const live = (await store.live(principalKey(ANONYMOUS))) + (await store.live(principalKey(LOCAL)));
  return { heap: heapUsed + external, handles, live };
}

process.on('message', () => void measure().then((measured) => process.send!(measured)));
process.once('disconnect', () => process.exit());

if (transport === 'http') process.send!((await errand.serve({ port: 0 })).url);
else {
  const { closed } = await errand.stdio();
  process.send!('stdio');
  await closed;
  await errand.close();
  process.disconnect();
}
