import type { CallOutcome } from './task/journal.ts';
import type { Task, TaskOutcome } from './task/task.ts';
import { parseTraceparent } from './traceparent.ts';

/** What is told of the work on tasks. Names, numbers and ends; never what a call was given, answered or came to. */
export interface Telemetry {
  /** Begins to tell of a run; `undefined` where nobody listens. */
  run(task: Task, facts: RunFacts): RunTrace | undefined;
}

export interface RunFacts {
  /** Whether it runs within the call that makes the task, and so belongs to the trace of that call. */
  readonly withinCall: boolean;
  /** How many journal entries it begins with. */
  readonly entries: number;
}

/** How a run ended, as far as it is told. */
export interface RunEnding {
  readonly kind: string;
  readonly outcome?: TaskOutcome;
}

/** A run that is told of. */
export interface RunTrace {
  /** Its place in its trace, in hex; absent where it has none. */
  readonly span?: { readonly traceId: string; readonly spanId: string };
  /** Does work of the run, so that what it calls finds its trace. */
  within<T>(work: () => T): T;
  step(name: string): StepTrace;
  /** The handler failed, and is run again later. */
  retried(error: unknown): void;
  end(ending: RunEnding): void;
}

/** A step of a run that is told of. */
export interface StepTrace {
  /** Does one attempt at its effect. */
  within<T>(work: () => T): T;
  /** An attempt failed, and another one is made. */
  retried(error: unknown): void;
  end(outcome: CallOutcome): void;
}

/** What each line of a log says of the run that it is about. */
export function logBindings(task: Task, trace?: RunTrace): Record<string, string> {
  const traceId = trace?.span?.traceId ?? (task.traceparent && parseTraceparent(task.traceparent)?.traceId);
  return {
    tool: task.tool,
    task: task.id,
    ...(traceId && { trace_id: traceId }),
    ...(trace?.span && { span_id: trace.span.spanId }),
  };
}
