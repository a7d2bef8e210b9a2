// What OpenTelemetry is told of a call: one trace from the caller's span down to each step, and measurements. The SDK is
// registered first, as any program does it; the server finds it by itself. Here both go to the console.
import assert from 'node:assert/strict';
import { metrics, trace } from '@opentelemetry/api';
import { ConsoleMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  ConsoleSpanExporter,
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createErrand } from 'errand';
import { connect, resultOf } from './client.ts';

const kept = new InMemorySpanExporter();
const tracing = new NodeTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter()), new SimpleSpanProcessor(kept)],
});
tracing.register();
const metering = new MeterProvider({
  readers: [new PeriodicExportingMetricReader({ exporter: new ConsoleMetricExporter() })],
});
metrics.setGlobalMeterProvider(metering);

const errand = createErrand({ name: 'bakery', version: '1.0.0' });
errand.tool('bake', { task: 'always', pollInterval: '100ms' }, async (_, task) => {
  await task.step('heat', ({ attempt }) => assert.equal(attempt, 2), { retry: { attempts: 2, backoff: '10ms' } });
  return task.step('bake', () => 'a loaf');
});
const { url } = await errand.serve({ port: 0 });

// A client says in which trace it calls, by a header as here, or by `_meta.traceparent`.
const breakfast = trace.getTracer('example').startSpan('breakfast');
const { traceId, spanId } = breakfast.spanContext();
const headers = { traceparent: `00-${traceId}-${spanId}-01` };
const { tasks, close } = await connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
await resultOf(await tasks.callTool('bake', {}));
breakfast.end();
await close();
await metering.shutdown(); // which collects once more
await errand.close();

const spans = kept.getFinishedSpans();
const pathOf = (id: string | undefined): string[] => {
  const span = spans.find((span) => span.spanContext().spanId === id);
  return span === undefined ? [] : [...pathOf(span.parentSpanContext?.spanId), span.name];
};
assert.deepEqual(spans.map((span) => pathOf(span.spanContext().spanId).join(' > ')).sort(), [
  'breakfast',
  'breakfast > tools/call bake',
  'breakfast > tools/call bake > run bake',
  'breakfast > tools/call bake > run bake > step bake',
  'breakfast > tools/call bake > run bake > step heat',
]);
