import type { LoggedEvent } from '../task/event.ts';
import type { BeginEntry, CallOutcome } from '../task/journal.ts';

/*
 * What the event log tells of the calls of a handler. Of subtasks it tells when they are made and when
 * they end, with their ids.
 */

export function beginEvent({ kind, name, ordinal, value }: BeginEntry): LoggedEvent | undefined {
  switch (kind) {
    case 'step':
      return { kind: 'step_begun', name, ordinal };
    case 'sleep':
      return { kind: 'slept', until: value as number };
    case 'input':
      return { kind: 'asked', key: name };
    case 'withdraw':
      return { kind: 'withdrawn', key: name };
    default:
      return undefined;
  }
}

export function endEvent({ kind, name, ordinal }: BeginEntry, outcome: CallOutcome): LoggedEvent | undefined {
  if (kind !== 'step') return undefined;
  return 'failure' in outcome
    ? { kind: 'step_ended', name, ordinal, failure: outcome.failure }
    : { kind: 'step_ended', name, ordinal };
}
