import { ErrandError } from '../errors.ts';
import type { JsonValue } from '../json.ts';
import type { Change } from '../store.ts';
import type { LoggedEvent } from '../task/event.ts';
import type { InputResponse } from '../task/input.ts';
import { isTerminal, type Task } from '../task/task.ts';
import { answer, decline, isOpen, pause, release, resume, steer } from '../task/transitions.ts';

/*
 * What is done to a task from outside, each with the line of the log that says so, in one change;
 * `undefined` where nothing changes. How a task ends is in ending.ts.
 */

/** What one task may be told in its life: it keeps all of it, and every change of the task writes it anew. */
const STEERING = { messages: 1000, bytes: 256 * 1024 };

/** Takes answers to open keys, which were checked; those that were answered meanwhile are ignored (E-8). */
export function answering(
  task: Task,
  answers: Readonly<Record<string, InputResponse>>,
  now: number,
): Change | undefined {
  const keys = Object.keys(answers).filter((key) => isOpen(task, key));
  return logged(task, answer(task, answers, now), { kind: 'answered', keys });
}

/** Takes back a question that its client cannot answer. */
export function declining(task: Task, key: string, now: number): Change | undefined {
  return logged(task, decline(task, key, now), { kind: 'withdrawn', key });
}

export function pausing(task: Task, reason: string | undefined, now: number): Change | undefined {
  return logged(task, pause(task, reason, now), { kind: 'paused', ...(reason !== undefined && { reason }) });
}

export function resuming(task: Task, now: number): Change | undefined {
  return logged(task, resume(task, now), { kind: 'resumed' });
}

/** Throws `tooLarge` where the task was told as much as it can keep. */
export function steering(task: Task, message: JsonValue, now: number): Change | undefined {
  if (!isTerminal(task)) checkSteering([...(task.steering ?? []), message]);
  return logged(task, steer(task, message, now), { kind: 'steered', message });
}

export function releasing(task: Task, now: number): Change | undefined {
  return logged(task, release(task, now), { kind: 'released' });
}

function logged(task: Task, next: Task, event: LoggedEvent): Change | undefined {
  return next === task ? undefined : { task: next, events: [event] };
}

function checkSteering(messages: readonly JsonValue[]): void {
  if (messages.length > STEERING.messages) {
    throw new ErrandError('tooLarge', `a task is told ${STEERING.messages} things at most, and this one was`);
  }
  const bytes = Buffer.byteLength(JSON.stringify(messages));
  if (bytes > STEERING.bytes) {
    throw new ErrandError(
      'tooLarge',
      `with this message the task would have been told ${bytes} bytes; at most ${STEERING.bytes} are kept`,
    );
  }
}
