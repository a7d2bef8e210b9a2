import { isSpanContextValid, SpanKind, type Context, type Span, type Tracer } from '@opentelemetry/api';
import type { CallOutcome } from '../task/journal.ts';
import type { Task } from '../task/task.ts';
import type { RunEnding, RunFacts, RunTrace, StepTrace } from '../telemetry.ts';
import {
  ATTEMPTS,
  ERROR_TYPE,
  errorAttributes,
  errorTypeOf,
  errorTypeOfOutcome,
  REPLAYED,
  RUN_END,
  STEP,
  TASK_ID,
  TOOL,
} from './attributes.ts';
import type { Instruments } from './instruments.ts';
import { below, currentOr, fail, remoteSpan, within } from './spans.ts';

/**
 * Begins to tell of a run. One that a call waits for is a child of that call; one that comes later, maybe
 * days and a crash later, has a trace of its own, which links to the one that the task was made in.
 */
export function traceRun(tracer: Tracer | undefined, instruments: Instruments, task: Task, facts: RunFacts): RunTrace {
  return new TracedRun(tracer, instruments, task, facts);
}

class TracedRun implements RunTrace {
  readonly span?: { readonly traceId: string; readonly spanId: string };
  readonly #tracer: Tracer | undefined;
  readonly #instruments: Instruments;
  readonly #tool: string;
  readonly #beganAt = performance.now();
  readonly #base: Context;
  readonly #span: Span | undefined;
  /** The steps that have not ended. */
  readonly #steps = new Set<TracedStep>();

  constructor(tracer: Tracer | undefined, instruments: Instruments, task: Task, facts: RunFacts) {
    const maker = facts.withinCall ? currentOr(remoteSpan(task.traceparent)) : remoteSpan(task.traceparent);
    this.#tracer = tracer;
    this.#instruments = instruments;
    this.#tool = task.tool;
    this.#base = below(facts.withinCall ? maker : undefined);
    this.#span = tracer?.startSpan(
      `run ${task.tool}`,
      {
        kind: facts.withinCall ? SpanKind.INTERNAL : SpanKind.CONSUMER,
        attributes: { [TOOL]: task.tool, [TASK_ID]: task.id, [REPLAYED]: facts.entries },
        links: facts.withinCall || maker === undefined ? [] : [{ context: maker }],
      },
      this.#base,
    );
    const own = this.#span?.spanContext();
    if (own !== undefined && isSpanContextValid(own)) this.span = { traceId: own.traceId, spanId: own.spanId };
  }

  within<T>(work: () => T): T {
    return this.#span === undefined ? work() : within(this.#span, this.#base, work);
  }

  step(name: string): StepTrace {
    const span = this.#tracer?.startSpan(
      `step ${name}`,
      { attributes: { [TOOL]: this.#tool, [STEP]: name } },
      below(this.#span?.spanContext()),
    );
    const step = new TracedStep(span, this.#instruments, this.#tool, () => this.#steps.delete(step));
    this.#steps.add(step);
    return step;
  }

  retried(error: unknown): void {
    this.#instruments.runRetries.add(1, { [TOOL]: this.#tool });
    if (this.#span !== undefined) fail(this.#span, errorTypeOf(error));
  }

  end({ kind, outcome }: RunEnding): void {
    // Nobody waits for what they come to any more.
    for (const step of this.#steps) step.leave();
    const errorType = errorTypeOfOutcome(outcome);
    const attributes = { [TOOL]: this.#tool, [RUN_END]: kind, ...errorAttributes(errorType) };
    this.#instruments.runDuration.record(secondsSince(this.#beganAt), attributes);
    if (kind === 'abandoned') this.#instruments.runRetries.add(1, { [TOOL]: this.#tool });
    if (this.#span === undefined) return;
    this.#span.setAttribute(RUN_END, kind);
    if (errorType !== undefined) fail(this.#span, errorType);
    this.#span.end();
  }
}

class TracedStep implements StepTrace {
  readonly #span: Span | undefined;
  readonly #instruments: Instruments;
  readonly #tool: string;
  readonly #onEnd: () => void;
  readonly #beganAt = performance.now();
  #attempts = 0;
  #over = false;

  constructor(span: Span | undefined, instruments: Instruments, tool: string, onEnd: () => void) {
    this.#span = span;
    this.#instruments = instruments;
    this.#tool = tool;
    this.#onEnd = onEnd;
  }

  within<T>(work: () => T): T {
    this.#attempts += 1;
    return this.#span === undefined ? work() : within(this.#span, below(undefined), work);
  }

  retried(error: unknown): void {
    this.#instruments.stepRetries.add(1, { [TOOL]: this.#tool });
    this.#span?.addEvent('retry', { [ERROR_TYPE]: errorTypeOf(error) });
  }

  end(outcome: CallOutcome): void {
    if (this.#over) return;
    const errorType = 'failure' in outcome ? outcome.failure.name : undefined;
    const attributes = { [TOOL]: this.#tool, ...errorAttributes(errorType) };
    this.#instruments.stepDuration.record(secondsSince(this.#beganAt), attributes);
    if (this.#span !== undefined && errorType !== undefined) fail(this.#span, errorType);
    this.leave();
  }

  /** Ends the span; what the step comes to is not known. */
  leave(): void {
    if (this.#over) return;
    this.#over = true;
    this.#onEnd();
    this.#span?.setAttribute(ATTEMPTS, this.#attempts).end();
  }
}

function secondsSince(began: number): number {
  return (performance.now() - began) / 1000;
}
