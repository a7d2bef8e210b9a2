import { trace, type Tracer } from '@opentelemetry/api';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Engine } from '../engine/engine.ts';
import type { Executor } from '../executor.ts';
import { memory } from '../stores/memory.ts';
import { testErrand } from '../testing.ts';
import { openTelemetry } from './opentelemetry.ts';

/** What every tracer makes spans by that was not registered by anybody. */
const startSpan = vi.spyOn(Object.getPrototypeOf(trace.getTracer('any')) as Tracer, 'startSpan');

it('where no SDK is registered, no span is made, and calls are answered by nobody else', async () => {
  const telemetry = openTelemetry(undefined);
  telemetry.start(memory(), {} as Executor);
  const answerCall: Engine['call'] = async () => ({ kind: 'result', result: { content: [] } });
  const answered = answerCall({} as never, {} as never);
  const spy = vi.fn(() => answered);
  expect(telemetry.calls(spy)({} as never, {} as never)).toBe(answered);
  expect(telemetry.run({} as never, { withinCall: true, entries: 0 })).toBeUndefined();

  const t = await testErrand({}, (errand) =>
    errand.tool('work', { task: 'always' }, (_, task) => task.step('one', () => 'done')),
  );
  onTestFinished(() => t.close());
  await t.client.until(await t.client.begin('work'), 'completed');
  expect(startSpan).not.toHaveBeenCalled();
});

it('with `telemetry: true` it is told all the same, so that an SDK may come later', async () => {
  const t = await testErrand({ telemetry: true }, (errand) => errand.tool('work', {}, () => 'done'));
  onTestFinished(() => t.close());
  await t.client.call('work');
  expect(startSpan.mock.calls.map(([name]) => name)).toEqual(['tools/call work', 'run work']);
});
