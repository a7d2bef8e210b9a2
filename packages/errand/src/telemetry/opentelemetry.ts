import { metrics, trace, type Tracer } from '@opentelemetry/api';
import type { Engine } from '../engine/engine.ts';
import type { Executor } from '../executor.ts';
import type { Store, StoreCommit } from '../store.ts';
import { isTerminal, type Task } from '../task/task.ts';
import type { Telemetry } from '../telemetry.ts';
import { ERROR_TYPE, errorAttributes, errorTypeOfOutcome, TASK_STATUS, TOOL } from './attributes.ts';
import { timeCall, traceCall } from './calls.ts';
import { observe } from './gauges.ts';
import { createInstruments, registeredMeter, type Instruments } from './instruments.ts';
import { traceRun } from './runs.ts';
import { registeredTracer } from './spans.ts';

/** What is told of a whole server. */
export interface ServerTelemetry extends Telemetry {
  /** Begins to tell, where somebody listens. */
  start(store: Store, executor: Executor): void;
  stop(): void;
  /** Has an answerer of calls told of. */
  calls(answerCall: Engine['call']): Engine['call'];
  /** A client reads a task. */
  polled(): void;
}

/** Who is told. */
interface Listeners {
  readonly tracer: Tracer | undefined;
  readonly instruments: Instruments;
  readonly stops: readonly (() => void)[];
}

/**
 * Tells OpenTelemetry, by whatever was registered with its API: with `true` always, with `false` never, else where
 * something is registered when the server starts. Until then, and where nothing is, no span and no measurement is made.
 */
export function openTelemetry(wanted: boolean | undefined): ServerTelemetry {
  let listeners: Listeners | undefined;

  function begin(store: Store, executor: Executor): void {
    if (wanted === false || listeners !== undefined) return;
    const tracer = wanted ? trace.getTracer('errand') : registeredTracer();
    const meter = registeredMeter();
    if (tracer === undefined && meter === undefined) return;
    const instruments = createInstruments(meter ?? metrics.getMeter('errand'));
    const stops = [
      observe(instruments, store, executor),
      store.subscribe((task) => count(instruments, task)),
      ...(store.onCommit ? [store.onCommit((commit) => measure(instruments, commit))] : []),
    ];
    listeners = { tracer, instruments, stops };
  }

  return {
    start: begin,

    stop() {
      for (const stop of listeners?.stops ?? []) stop();
      listeners = undefined;
    },

    run(task, facts) {
      return listeners && traceRun(listeners.tracer, listeners.instruments, task, facts);
    },

    calls: (answerCall) => (call, caller, onTask) => {
      if (listeners === undefined) return answerCall(call, caller, onTask);
      const { tracer, instruments } = listeners;
      const answer = () =>
        tracer === undefined
          ? answerCall(call, caller, onTask)
          : traceCall(tracer, call, caller, (traced) => answerCall(traced, caller, onTask));
      return timeCall(instruments, answer, call.tool);
    },

    polled() {
      listeners?.instruments.polls.add(1);
    },
  };
}

/** What a commit made of a task. Its end is told by the process that committed it, once. */
function count({ created, taskDuration }: Instruments, task: Task): void {
  if (task.version === 1) created.add(1, { [TOOL]: task.tool });
  if (!isTerminal(task)) return;
  taskDuration.record((task.lastUpdatedAt - task.createdAt) / 1000, {
    [TOOL]: task.tool,
    [TASK_STATUS]: task.status,
    ...errorAttributes(errorTypeOfOutcome(task.outcome)),
  });
}

function measure({ commitDuration, commitSize }: Instruments, { ms, commands, failed }: StoreCommit): void {
  commitDuration.record(ms / 1000, failed ? { [ERROR_TYPE]: 'store_away' } : {});
  commitSize.record(commands);
}
