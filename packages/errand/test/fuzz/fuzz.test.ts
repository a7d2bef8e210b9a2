import { describe, expect, test } from 'vitest';
import { fuzzHttp } from './over-http.ts';
import { fuzzStdio } from './over-stdio.ts';
import { startSubject, type Measure, type Subject } from './subject.ts';
import { Tally } from './tally.ts';

/*
 * `npm test` runs a short slice of this; `npm run test:fuzz` says how much of it, and then memory is measured, which
 * takes some thousand frames to mean anything.
 */

const { ERRAND_FUZZ_FRAMES: frames, ERRAND_FUZZ_LINES: lines, ERRAND_FUZZ_SEED: seed } = process.env;
const LONG = frames !== undefined;
const SEED = Number(seed ?? 20260728);

/** What is loaded or compiled with the first of a kind is no leak, so that so many go ahead. */
const warmUp = (count: number): number => Math.max(1000, count / 10);

async function fuzzed(transport: 'http' | 'stdio', count: number, run: typeof fuzzHttp) {
  const subject = await startSubject(transport);
  try {
    if (LONG) await run(subject, { frames: warmUp(count), seed: SEED + 1000 }, new Tally());
    const tally = new Tally();
    const before = await subject.measure();
    await run(subject, { frames: count, seed: SEED }, tally);
    const after = await subject.measure();
    if (LONG) report(`${transport}: seed ${SEED}, ${count} frames`, tally, before, after);
    expectNothingLeft(subject, before, after);
    return tally;
  } finally {
    await subject.stop();
  }
}

function expectNothingLeft(subject: Subject, before: Measure, after: Measure): void {
  expect(after.handles).toEqual(before.handles);
  if (LONG) expect(after.heap / before.heap).toBeLessThan(1.1);
  expect(subject.gone()).toBeUndefined();
  expect(subject.log()).toBe('');
}

function report(what: string, tally: Tally, before: Measure, after: Measure): void {
  const kib = ({ heap }: Measure): string => `${Math.round(heap / 1024)} KiB`;
  const growth = ((after.heap / before.heap - 1) * 100).toFixed(1);
  console.log(`${what}
${tally.toString()}
  after garbage collection: ${kib(before)} before, ${kib(after)} after (${growth} %)
  handles: ${JSON.stringify(before.handles)} before, ${JSON.stringify(after.handles)} after`);
}

describe('mutated frames', { timeout: 7_200_000, concurrent: true }, () => {
  test('over HTTP get valid answers under the right status, and the server lives, serves on and leaks nothing', async () => {
    const tally = await fuzzed('http', Number(frames ?? 300), fuzzHttp);
    // What never got past the first check would prove little.
    const reached = ['200 complete', '200 task', '200 -32602', '400 -32700', '400 -32600', '400 -32602', '400 -32020'];
    expect(tally.kinds).toEqual(expect.arrayContaining([...reached, '404 -32601']));
  });

  test('over stdio get valid answers, and the server lives, serves on and leaks nothing', async () => {
    const tally = await fuzzed('stdio', Number(lines ?? 200), fuzzStdio);
    expect(tally.kinds).toEqual(expect.arrayContaining(['complete', 'task', '-32602', '-32700', '-32600']));
  });
});
