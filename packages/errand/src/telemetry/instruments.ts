import { createNoopMeter, metrics, type Counter, type Histogram, type Meter } from '@opentelemetry/api';

/** What is counted and timed. Durations in seconds, as the conventions have them. */
export interface Instruments {
  readonly meter: Meter;
  readonly callDuration: Histogram;
  readonly created: Counter;
  readonly taskDuration: Histogram;
  readonly runDuration: Histogram;
  readonly runRetries: Counter;
  readonly stepDuration: Histogram;
  readonly stepRetries: Counter;
  readonly commitDuration: Histogram;
  readonly commitSize: Histogram;
  readonly polls: Counter;
}

/** Those that the conventions give for requests of MCP. */
const REQUEST_BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
/** From a moment to a week. */
const TASK_BUCKETS = [0.1, 1, 10, 60, 600, 3600, 21_600, 86_400, 604_800];
const COMMIT_BUCKETS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1];
const SIZE_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** Who takes measurements; `undefined` where none was registered with the API. */
export function registeredMeter(): Meter | undefined {
  const meter = metrics.getMeter('errand');
  return meter === createNoopMeter() ? undefined : meter;
}

export function createInstruments(meter: Meter): Instruments {
  const seconds = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries } });
  const count = (name: string, unit: string, description: string) => meter.createCounter(name, { description, unit });

  return {
    meter,
    callDuration: seconds('mcp.server.operation.duration', 'How long calls of tools took to answer', REQUEST_BUCKETS),
    created: count('errand.tasks.created', '{task}', 'Tasks that were made'),
    taskDuration: seconds('errand.task.duration', 'From the creation of tasks to their end', TASK_BUCKETS),
    runDuration: seconds('errand.run.duration', 'How long runs were in memory', REQUEST_BUCKETS),
    runRetries: count('errand.run.retries', '{run}', 'Runs that failed and are tried again'),
    stepDuration: seconds('errand.step.duration', 'How long steps took, all attempts together', REQUEST_BUCKETS),
    stepRetries: count(
      'errand.step.retries',
      '{attempt}',
      'Attempts at steps that failed and were followed by another',
    ),
    commitDuration: seconds('errand.store.commit.duration', 'How long the store took to commit', COMMIT_BUCKETS),
    commitSize: meter.createHistogram('errand.store.commit.size', {
      description: 'Commands that shared a commit',
      unit: '{command}',
      advice: { explicitBucketBoundaries: SIZE_BUCKETS },
    }),
    polls: count('errand.polls', '{request}', 'Reads of tasks by clients'),
  };
}
