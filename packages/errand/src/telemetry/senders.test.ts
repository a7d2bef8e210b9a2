import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { trace } from '@opentelemetry/api';
import { pino } from 'pino';
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { frame, headersOf, TASK_CLIENT } from '../../test/fixtures/frames.ts';
import { openSession } from '../../test/fixtures/session-wire.ts';
import { listenByOpenTelemetry } from '../../test/fixtures/telemetry.ts';
import { wireClient, type WireClient } from '../../test/fixtures/wire.ts';
import { createErrand, type ErrandOptions } from '../errand.ts';
import type { JsonObject } from '../json.ts';
import { memory } from '../stores/memory.ts';
import { sqlite } from '../stores/sqlite.ts';
import { testErrand } from '../testing.ts';

const told = listenByOpenTelemetry();
afterEach(() => told.forget());
afterAll(() => told.stop());

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;
const OTHER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** A server over a real socket. */
async function served({ store = memory(), ...options }: Partial<ErrandOptions> = {}) {
  const errand = createErrand({ name: 't', version: '1', log: pino({ level: 'silent' }), store, ...options });
  errand.tool('work', { task: 'always' }, async (_, task) => {
    await task.step('step', () => 1);
    return 'done';
  });
  errand.tool('ask', { task: 'always' }, async (_, task) => {
    const { action } = await task.elicit('q', { message: 'Go on?', schema: z.object({}) });
    return action;
  });
  const { url } = await errand.serve({ port: 0 });
  onTestFinished(() => errand.close());
  return { store, errand, url, client: wireClient(url) };
}

function begin(client: WireClient, meta: JsonObject, headers: Record<string, string> = {}, name = 'work') {
  return client.result('tools/call', { name, arguments: {}, _meta: meta }, { headers });
}

describe('the trace of the sender', () => {
  it('goes on in the call, its run and its steps, where the message names it', async () => {
    const { client } = await served();
    const { taskId } = await begin(client, { traceparent: TRACEPARENT, tracestate: 'vendor=7' });
    await client.ended(taskId as string);
    const call = told.span('tools/call work');
    expect(call.parentSpanContext).toMatchObject({ traceId: TRACE, spanId: SPAN, isRemote: true });
    expect(call.links).toEqual([]);
    for (const span of told.spans()) {
      expect(span.spanContext().traceId).toBe(TRACE);
      expect(span.spanContext().traceState?.serialize()).toBe('vendor=7');
    }
  });

  it('goes on where an HTTP header names it, unless the message names another', async () => {
    const { client } = await served();
    await client.ended((await begin(client, {}, { traceparent: TRACEPARENT }))['taskId'] as string);
    expect(told.span('tools/call work').parentSpanContext).toMatchObject({ traceId: TRACE, spanId: SPAN });
    told.forget();
    const second = await begin(client, { traceparent: OTHER }, { traceparent: TRACEPARENT });
    await client.ended(second['taskId'] as string);
    expect(told.span('tools/call work').parentSpanContext?.traceId).toBe(OTHER.split('-')[1]);
  });

  it('is of no account where it is malformed', async () => {
    const { client } = await served();
    const { taskId } = await begin(client, { traceparent: 'x', tracestate: 7 }, { traceparent: TRACEPARENT.slice(1) });
    await client.ended(taskId as string);
    expect(told.span('tools/call work').parentSpanContext).toBeUndefined();
  });

  it('that is not sampled makes spans for nobody, and is kept all the same', async () => {
    const { client, store } = await served();
    const { taskId } = await begin(client, { traceparent: `00-${TRACE}-${SPAN}-00` });
    await client.ended(taskId as string);
    expect(told.spans()).toEqual([]);
    expect((await store.read(taskId as string))?.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  });
});

describe('a call in a session', () => {
  it('is told of with the revision of the session', async () => {
    const { url } = await served();
    const client = await openSession(url);
    const { taskId } = await client.begin('work');
    expect(told.span('tools/call work').attributes).toMatchObject({
      'mcp.protocol.version': '2025-11-25',
      'errand.call.answer': 'task',
      'errand.task.id': taskId,
    });
  });
});

describe('what a task keeps of the trace that it was made in', () => {
  it('is the span of the call', async () => {
    const { client, store } = await served();
    const { taskId } = await begin(client, { traceparent: TRACEPARENT });
    await client.ended(taskId as string);
    const { spanId } = told.span('tools/call work').spanContext();
    expect((await store.read(taskId as string))?.traceparent).toBe(`00-${TRACE}-${spanId}-01`);
  });

  it('is what the sender names, where nobody listens; a later life that is listened to links to that', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'errand-traces-'));
    onTestFinished(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
    const store = () => sqlite(path.join(folder, 'tasks.db'));
    const deaf = await served({ telemetry: false, store: store() });
    const { taskId } = await begin(deaf.client, { traceparent: TRACEPARENT }, {}, 'ask');
    await deaf.client.asked(taskId as string, 'q');
    await deaf.errand.close();
    expect(told.spans()).toEqual([]);

    const { client } = await served({ store: store() });
    await client.update(taskId as string, { q: { action: 'decline' } });
    await client.ended(taskId as string);
    expect(told.span('run ask').links).toMatchObject([{ context: { traceId: TRACE, spanId: SPAN } }]);
  });

  it('is not shown to clients', async () => {
    const { client } = await served();
    const { taskId } = await begin(client, { traceparent: TRACEPARENT });
    expect(JSON.stringify(await client.ended(taskId as string))).not.toContain(TRACE);
  });
});

describe('the span that surrounds a call here, as that of an HTTP request', () => {
  it('is its parent, and its link where the message names another', async () => {
    const t = await testErrand({}, (errand) => errand.tool('work', { task: 'always' }, () => 'done'));
    onTestFinished(() => t.close());
    await trace.getTracer('host').startActiveSpan('POST', async (host) => {
      await t.client.call('work');
      const { spanId } = host.spanContext();
      expect(told.span('tools/call work').parentSpanContext?.spanId).toBe(spanId);
      told.forget();
      const message = frame(1, 'tools/call', { name: 'work', _meta: { traceparent: TRACEPARENT } }, TASK_CLIENT);
      const init = { method: 'POST', headers: headersOf(message), body: JSON.stringify(message) };
      await t.errand.fetch(new Request('http://localhost/mcp', init));
      const call = told.span('tools/call work');
      expect(call.parentSpanContext?.spanId).toBe(SPAN);
      expect(call.links).toMatchObject([{ context: { spanId } }]);
      host.end();
    });
  });
});
