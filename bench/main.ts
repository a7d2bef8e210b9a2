import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CONNECTIONS, load, once, type Load, type Round } from './load.ts';
import { start, type Serving } from './serving.ts';

const ROUNDS = 5;
const ROUND_MS = 1000;

interface Subject {
  readonly name: string;
  readonly serving: Serving;
  readonly target: Load;
  readonly rounds: (Round & { readonly cpu: number })[];
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
};

function request(url: URL, method: string, name: string, params: object): Load {
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': method,
    'Mcp-Name': name,
  };
  return { url, headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }) };
}

/** The id of a task that has ended. */
async function finishedTask(url: URL): Promise<string> {
  const call = request(url, 'tools/call', 'job', { name: 'job', arguments: {} });
  const { result } = (await once(call)) as { result: { taskId: string } };
  const read = request(url, 'tasks/get', result.taskId, { taskId: result.taskId });
  for (;;) {
    const answer = (await once(read)) as { result: { status: string } };
    if (answer.result.status === 'completed') return result.taskId;
    await pause(50);
  }
}

async function measure({ serving, target, rounds }: Subject): Promise<void> {
  const before = await serving.cpuMicros();
  const round = await load(target, ROUND_MS);
  rounds.push({ ...round, cpu: ((await serving.cpuMicros()) - before) / round.requests });
}

function best(rounds: readonly number[]): number {
  return Math.max(...rounds);
}

function median(rounds: readonly number[]): number {
  return rounds.toSorted((a, b) => a - b)[Math.floor(rounds.length / 2)] ?? Number.NaN;
}

function print(subjects: readonly Subject[]): void {
  const [bare] = subjects;
  const speeds = (subject: Subject) => subject.rounds.map((round) => round.perSecond);
  const columns = [22, 18, 10, 10, 12, 24];
  const row = (...cells: string[]) =>
    console.log(cells.map((cell, i) => (i === 0 ? cell.padEnd(columns[i]!) : cell.padStart(columns[i]!))).join(''));
  row('', 'req/s best', 'p50 ms', 'p95 ms', 'CPU µs/req', 'req/s of bare');
  row('', '(median)', 'median', 'median', 'least', 'best (median)');
  for (const subject of subjects) {
    const ratio = (of: typeof best) => (of(speeds(subject)) / of(speeds(bare!))).toFixed(2);
    row(
      subject.name,
      `${best(speeds(subject)).toFixed(0)} (${median(speeds(subject)).toFixed(0)})`,
      median(subject.rounds.map(({ p50 }) => p50)).toFixed(2),
      median(subject.rounds.map(({ p95 }) => p95)).toFixed(2),
      Math.min(...subject.rounds.map(({ cpu }) => cpu)).toFixed(0),
      `${ratio(best)} (${ratio(median)})`,
    );
  }
}

const folder = mkdtempSync(path.join(tmpdir(), 'errand-bench-'));
const [echo, errand] = await Promise.all([start('./echo.ts'), start('./errand.ts', folder)]);
const taskId = await finishedTask(errand.url);
const read = request(errand.url, 'tasks/get', taskId, { taskId });
const subjects: Subject[] = [
  { name: 'bare node:http echo', serving: echo, target: { ...read, url: echo.url }, rounds: [] },
  { name: 'tasks/get', serving: errand, target: read, rounds: [] },
  {
    name: 'tools/call (instant)',
    serving: errand,
    target: request(errand.url, 'tools/call', 'instant', { name: 'instant', arguments: {} }),
    rounds: [],
  },
];

console.log(
  `Node ${process.version}, ${availableParallelism()} cores, ${CONNECTIONS} connections, ` +
    `${ROUNDS} rounds of ${ROUND_MS} ms in turn\n`,
);
for (const { target } of subjects) await load(target, ROUND_MS / 2);
for (let round = 0; round < ROUNDS; round++) for (const subject of subjects) await measure(subject);
print(subjects);

echo.stop();
errand.stop();
rmSync(folder, { recursive: true, maxRetries: 5, retryDelay: 100 });
