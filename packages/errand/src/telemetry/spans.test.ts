import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { listenByOpenTelemetry } from '../../test/fixtures/telemetry.ts';
import type { Errand } from '../errand.ts';
import { testErrand, virtualClock } from '../testing.ts';
import type { TestErrand, TestErrandOptions } from '../testing/test-errand.ts';

const told = listenByOpenTelemetry();
afterEach(() => told.forget());
afterAll(() => told.stop());

async function serving(define: (errand: Errand) => unknown, options: TestErrandOptions = {}): Promise<TestErrand> {
  const t = await testErrand(options, define);
  onTestFinished(() => t.close());
  return t;
}

function parentOf({ parentSpanContext }: ReadableSpan): string | undefined {
  return parentSpanContext?.spanId;
}

function idOf(span: ReadableSpan): string {
  return span.spanContext().spanId;
}

describe('the spans of a call', () => {
  it('are the call, below it its run, and below that the steps', async () => {
    const t = await serving((errand) =>
      errand.tool('order', { task: 'always' }, async (_, task) => {
        await task.step('reserve', () => 1);
        await task.step('charge', () => 2);
        return 'done';
      }),
    );
    const id = await t.client.begin('order');
    await t.client.until(id, 'completed');
    const [call, run] = [told.span('tools/call order'), told.span('run order')];
    expect(call).toMatchObject({
      kind: SpanKind.SERVER,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'mcp.method.name': 'tools/call',
        'mcp.protocol.version': '2026-07-28',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'order',
        'jsonrpc.request.id': '1',
        'network.transport': 'tcp',
        'errand.call.answer': 'task',
        'errand.task.id': id,
      },
    });
    expect(parentOf(call)).toBeUndefined();
    expect(run).toMatchObject({
      links: [],
      attributes: { 'gen_ai.tool.name': 'order', 'errand.task.id': id, 'errand.run.end': 'ended' },
    });
    expect(parentOf(run)).toBe(idOf(call));
    for (const name of ['reserve', 'charge']) {
      const step = told.span(`step ${name}`);
      expect(parentOf(step)).toBe(idOf(run));
      expect(step.attributes).toMatchObject({ 'errand.step.name': name, 'errand.step.attempts': 1 });
    }
    expect(new Set(told.spans().map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  it('are there without a task too', async () => {
    const t = await serving((errand) => errand.tool('quick', {}, (_, task) => task.step('look', () => 'found')));
    await t.client.call('quick');
    expect(told.span('tools/call quick').attributes).toMatchObject({ 'errand.call.answer': 'result' });
    expect(parentOf(told.span('run quick'))).toBe(idOf(told.span('tools/call quick')));
  });

  it('say by kind, and by nothing else, what went wrong', async () => {
    const t = await serving((errand) => {
      errand.tool('throws', {}, () => {
        throw new TypeError('secret');
      });
      errand.tool('admits', {}, () => ({ content: [], isError: true }));
    });
    await t.client.call('throws');
    await t.client.call('admits');
    for (const span of ['tools/call throws', 'run throws', 'tools/call admits', 'run admits'].map(told.span)) {
      expect(span).toMatchObject({
        status: { code: SpanStatusCode.ERROR },
        attributes: { 'error.type': 'tool_error' },
      });
      expect(span.status.message).toBeUndefined();
      expect(span.events).toEqual([]);
    }
  });

  it('have the code of a call that is refused', async () => {
    const t = await serving((errand) => errand.tool('refuses', { withoutTasks: 'refuse' }, () => 'done'));
    await t.clientAs({ tasks: false }).request('tools/call', { name: 'refuses', arguments: {} });
    expect(told.span('tools/call refuses')).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': '-32021', 'rpc.response.status_code': '-32021' },
    });
  });
});

describe('the span of a step', () => {
  it('counts its attempts, and keeps the kind of each failure', async () => {
    const clock = virtualClock();
    const t = await serving(
      (errand) =>
        errand.tool('flaky', { task: 'always' }, async (_, task) => {
          const fetch = ({ attempt }: { attempt: number }) => {
            if (attempt < 3) throw new RangeError(`attempt ${attempt} got secret`);
            return 'got it';
          };
          return task.step('fetch', fetch, { retry: { attempts: 5, backoff: '1h' } });
        }),
      { clock },
    );
    const id = await t.client.begin('flaky');
    await t.client.until(id, 'completed');
    const step = told.span('step fetch');
    expect(step).toMatchObject({ status: { code: SpanStatusCode.UNSET }, attributes: { 'errand.step.attempts': 3 } });
    expect(step.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['retry', { 'error.type': 'RangeError' }],
      ['retry', { 'error.type': 'RangeError' }],
    ]);
  });

  it('says that it failed for good', async () => {
    const t = await serving((errand) =>
      errand.tool('fails', {}, async (_, task) => {
        const failed = await task.step('fetch', () => Promise.reject(new RangeError('secret'))).catch(() => true);
        return failed ? 'went another way' : 'done';
      }),
    );
    await t.client.call('fails');
    expect(told.span('step fetch')).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'RangeError', 'errand.step.attempts': 1 },
    });
    expect(told.span('run fails').status.code).toBe(SpanStatusCode.UNSET);
  });

  it('ends with its run, though its effect goes on', async () => {
    const t = await serving((errand) =>
      errand.tool('race', {}, async (_, task) => {
        void task.step('slow', () => new Promise(() => undefined));
        await task.step('quick', () => 1);
        return 'done';
      }),
    );
    await t.client.call('race');
    expect(parentOf(told.span('step slow'))).toBe(idOf(told.span('run race')));
  });
});

describe('what a handler calls', () => {
  it('finds the run as the current span, and within a step that step', async () => {
    const seen: (string | undefined)[] = [];
    const look = () => seen.push(trace.getActiveSpan()?.spanContext().spanId);
    const t = await serving((errand) =>
      errand.tool('looks', { task: 'always' }, async (_, task) => {
        look();
        await task.step('one', look);
        look();
        await Promise.all([task.step('two', look), task.sleep('5ms')]);
        look();
        return 'done';
      }),
    );
    await t.client.until(await t.client.begin('looks'), 'completed');
    const run = idOf(told.span('run looks'));
    expect(seen).toEqual([run, idOf(told.span('step one')), run, idOf(told.span('step two')), run]);
  });
});

describe('a run that comes later', () => {
  it('has a trace of its own, which links to the call, also over a crash and days', async () => {
    const clock = virtualClock();
    const t = await serving(
      (errand) =>
        errand.tool('remind', { task: 'always', deadline: '60d' }, async (_, task) => {
          await task.step('note', () => 1);
          await task.sleep('30d');
          await task.step('send', () => 2);
          const { action } = await task.elicit('done', { message: 'Done?', schema: z.object({}) });
          return action;
        }),
      { clock },
    );
    const id = await t.client.begin('remind');
    await clock.advance('10d');
    expect(told.span('run remind').attributes).toMatchObject({ 'errand.run.end': 'parked', 'errand.run.replayed': 0 });
    const call = told.span('tools/call remind').spanContext();
    told.forget();

    await t.crash();
    await t.restart();
    await clock.advance('20d');
    await t.client.until(id, 'input_required');
    await clock.advance('1h');
    const woken = told.span('run remind');
    expect(woken).toMatchObject({ kind: SpanKind.CONSUMER, attributes: { 'errand.run.end': 'parked' } });
    expect(woken.attributes['errand.run.replayed']).toBeGreaterThan(0);
    expect(parentOf(woken)).toBeUndefined();
    expect(woken.spanContext().traceId).not.toBe(call.traceId);
    expect(woken.links.map(({ context }) => [context.traceId, context.spanId])).toEqual([[call.traceId, call.spanId]]);
    // What is on record does not run again, and is not told again.
    expect(told.spans().map(({ name }) => name)).toEqual(['step send', 'run remind']);
    expect(parentOf(told.span('step send'))).toBe(idOf(woken));
    told.forget();

    await t.client.answer(id, { done: { action: 'decline' } });
    await t.client.until(id, 'completed');
    expect(told.span('run remind').links).toMatchObject([{ context: { spanId: call.spanId } }]);
  });

  it('links to the call, where it is the run of a subtask', async () => {
    const t = await serving((errand) => {
      errand.tool('whole', { task: 'always' }, async (_, task) => {
        await task.subtask('part', 'part', {});
        return 'done';
      });
      errand.tool('part', {}, () => 'done');
    });
    await t.client.until(await t.client.begin('whole'), 'completed');
    const { spanId } = told.span('tools/call whole').spanContext();
    expect(told.span('run part').links).toMatchObject([{ context: { spanId } }]);
  });

  it('after a crash in the middle of a step is told, and the one that died is not', async () => {
    let reached!: () => void;
    const inStep = new Promise<void>((resolve) => (reached = resolve));
    let lives = 0;
    const t = await serving((errand) =>
      errand.tool('work', { task: 'always' }, async (_, task) => {
        await task.step('effect', () => {
          lives += 1;
          reached();
          return lives === 1 ? new Promise(() => undefined) : lives;
        });
        return 'done';
      }),
    );
    const id = await t.client.begin('work');
    await inStep;
    const call = told.span('tools/call work').spanContext();
    await t.crash();
    expect(told.spans().map(({ name }) => name)).toEqual(['tools/call work']);
    await t.restart();
    await t.client.until(id, 'completed');
    expect(told.span('run work').links).toMatchObject([{ context: { traceId: call.traceId, spanId: call.spanId } }]);
    expect(parentOf(told.span('step effect'))).toBe(idOf(told.span('run work')));
  });
});
