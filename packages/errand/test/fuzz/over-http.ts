import fc from 'fast-check';
import { expect } from 'vitest';
import { frame, TASK_CLIENT } from '../fixtures/frames.ts';
import type { JsonObject } from '../../src/json.ts';
import { carried, type Carriage } from './carriage.ts';
import { bytesOf, honestHeaders, httpCases, Pool, type HttpCase } from './cases.ts';
import { exchange } from './connection.ts';
import { judge } from './judge.ts';
import type { Subject } from './subject.ts';
import type { Plan, Tally } from './tally.ts';

/** As clients send. */
const PLAIN: Carriage = { head: [], chunked: 0, pieces: 1, pause: 0, leaves: undefined };

/** So many connections send at once. */
const LANES = 16;
/** Making a failure smaller ends after so many tries: what it takes for one that hangs is minutes otherwise. */
const MOST_FAILURES = 60;

/** Sends mutated frames over HTTP, and judges each answer. Meanwhile another client uses the server as it is meant. */
export async function fuzzHttp(subject: Subject, { frames, seed }: Plan, tally: Tally): Promise<void> {
  const port = Number(new URL(subject.url).port);
  const pool = new Pool();
  let over = false;
  const control = (async () => {
    for (let count = 1; !over; count++) {
      await controlTask(port, count);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  // Whoever awaits it comes later.
  control.catch(() => undefined);
  await Promise.all(
    Array.from({ length: LANES }, (_, lane) =>
      lanes(Math.ceil(frames / LANES), seed + lane, (each) => sendOne(subject, port, pool, tally, each)),
    ),
  ).finally(() => (over = true));
  await control;
}

async function lanes(numRuns: number, seed: number, send: (each: HttpCase) => Promise<void>): Promise<void> {
  let failures = 0;
  const property = fc.asyncProperty(httpCases, async (each) => {
    if (failures > MOST_FAILURES) return;
    try {
      await send(each);
    } catch (error) {
      failures += 1;
      throw error;
    }
  });
  const details = await fc.check(property, { numRuns, seed });
  // What is large is large because one thing is in it many times.
  const report = fc.defaultReportMessage(details)?.replace(/(.{1,8}?)\1{30,}/g, '$1…');
  if (report !== undefined) throw new Error(report, { cause: details.errorInstance });
}

async function sendOne(subject: Subject, port: number, pool: Pool, tally: Tally, each: HttpCase): Promise<void> {
  const { template, stale, carriage } = each;
  const request = pool.request(template);
  const body = bytesOf(each, request);
  const headers = honestHeaders(stale ? Buffer.from(JSON.stringify(request)) : body, request);
  const { bytes, whole, line } = carried(headers, body, carriage);
  const { responses, timedOut } = await exchange(port, bytes, carriage, !whole);
  const shown = bytes.subarray(0, 1500).toString('latin1');
  expect(subject.gone(), shown).toBeUndefined();
  expect(subject.log(), shown).toBe('');
  expect(timedOut, `no answer within 20 s to:\n${shown}`).toBe(false);
  const leaves = carriage.leaves !== undefined;
  if (whole && !leaves) expect(responses.length, `no answer to:\n${shown}`).toBe(1);
  const pristine = each.edits.length + each.bytes.length + carriage.head.length === 0 && !leaves;
  for (const response of responses) {
    // Whoever hangs up in the middle of an answer may see its half.
    if (!response.whole && leaves) continue;
    pool.note(response.body);
    try {
      tally.count(judge({ body, pristine, whole: whole && !leaves, line }, response));
    } catch (error) {
      const answer = JSON.stringify(response).slice(0, 1000);
      throw new Error(`${(error as Error).message}\nanswer: ${answer}\nto: ${shown}`, { cause: error });
    }
  }
  if (responses.length === 0) tally.count(leaves ? 'none: the client hung up' : 'none: HTTP saw no request');
}

/** Drives one task as a client in good faith does, and wants its result to be what was asked for. */
async function controlTask(port: number, number: number): Promise<void> {
  let id = 0;
  const call = async (method: string, params: JsonObject): Promise<JsonObject> => {
    const request = frame(`control-${number}-${++id}`, method, params, TASK_CLIENT);
    const body = Buffer.from(JSON.stringify(request));
    const { bytes } = carried(honestHeaders(body, request), body, PLAIN);
    const { responses } = await exchange(port, bytes, PLAIN, false);
    expect(responses.map(({ status }) => status)).toEqual([200]);
    const { id: answered, result } = JSON.parse(responses[0]!.body) as { id: string; result: JsonObject };
    expect(answered).toBe(request.id);
    return result;
  };
  const text = `control ${number}: ∮ E⋅da = Q, \u202e\ud83d\ude00`;
  const made = await call('tools/call', { name: 'note', arguments: { text } });
  expect(made['resultType']).toBe('task');
  for (let polls = 0; ; polls++) {
    const task = await call('tasks/get', { taskId: made['taskId']! });
    if (task['status'] === 'completed') {
      expect(task['result']).toMatchObject({ content: [{ type: 'text', text }] });
      return;
    }
    expect(task['status']).toBe('working');
    expect(polls).toBeLessThan(500);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
