import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { frame, headersOf, TASK_CLIENT } from '../../test/fixtures/frames.ts';
import type { Errand } from '../errand.ts';
import { testErrand } from '../testing.ts';
import { logOptions } from './log.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`;

/** A log as the server has it by default, and its lines. */
function logging() {
  const lines: Record<string, unknown>[] = [];
  const sink = new Writable({
    write(chunk, _, done) {
      lines.push(JSON.parse(String(chunk)) as Record<string, unknown>);
      done();
    },
  });
  return { lines, log: pino({ ...logOptions, level: 'trace' }, sink) };
}

async function called(define: (errand: Errand) => unknown, tool: string) {
  const { lines, log } = logging();
  const t = await testErrand({ log }, define);
  onTestFinished(() => t.close());
  const message = frame(1, 'tools/call', { name: tool, _meta: { traceparent: TRACEPARENT } }, TASK_CLIENT);
  const init = { method: 'POST', headers: headersOf(message), body: JSON.stringify(message) };
  const answer = await t.errand.fetch(new Request('http://localhost/mcp', init));
  const { result } = (await answer.json()) as { result: { taskId?: string } };
  if (result.taskId !== undefined) await t.client.until(result.taskId, ['completed', 'failed']);
  return { lines, task: result.taskId };
}

describe('a line about a run', () => {
  it('says of which task and tool it is, and in which trace, by whomever it is written', async () => {
    const { lines, task } = await called(
      (errand) =>
        errand.tool('work', { task: 'always' }, async (_, task) => {
          task.log.info('on it');
          await task.step(
            'flaky',
            ({ attempt }) => {
              if (attempt === 1) throw new Error('no');
            },
            { retry: { attempts: 2, backoff: 1 } },
          );
          throw new Error('never');
        }),
      'work',
    );
    expect(lines.map(({ msg }) => msg)).toEqual(['on it', 'step failed, trying again', 'the handler threw']);
    for (const line of lines) expect(line).toMatchObject({ tool: 'work', task, trace_id: TRACE });
  });
});

describe('a log', () => {
  it('leaves out what is secret by its name, three levels deep', () => {
    const { lines, log } = logging();
    log.info({ args: { a: 1 }, request: { headers: { authorization: 'Bearer x', accept: 'y' }, token: 'x' } });
    expect(lines).toMatchObject([
      {
        args: '[redacted]',
        request: { headers: { authorization: '[redacted]', accept: 'y' }, token: '[redacted]' },
      },
    ]);
  });

  it('has of an error no more than its kind, message, stack, code and causes', () => {
    const { lines, log } = logging();
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', request: { key: 'hidden' } });
    const error = Object.assign(new TypeError('failed', { cause }), { config: { headers: { 'x-api-key': 'hidden' } } });
    log.error({ err: error });
    log.error({ err: new AggregateError([cause], 'both') });
    log.error({ err: { key: 'hidden' } });
    log.error({ err: 'a text' });
    expect(lines.map(({ err }) => err)).toEqual([
      {
        type: 'TypeError',
        message: 'failed',
        stack: error.stack,
        cause: { type: 'Error', message: 'refused', stack: cause.stack, code: 'ECONNREFUSED' },
      },
      expect.objectContaining({ type: 'AggregateError', errors: [expect.objectContaining({ code: 'ECONNREFUSED' })] }),
      { type: 'object' },
      { message: 'a text' },
    ]);
    expect(JSON.stringify(lines)).not.toContain('hidden');
  });

  it('survives an error that is its own cause', () => {
    const { lines, log } = logging();
    const error = new Error('round');
    error.cause = error;
    log.error({ err: error });
    expect(lines).toHaveLength(1);
  });
});
