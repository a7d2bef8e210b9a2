import type { JsonValue } from '../json.ts';

/** What a handler can begin. `now`, `uuid` and `withdraw` are over as soon as they are begun. */
export type CallKind = 'step' | 'input' | 'sleep' | 'subtask' | 'steering' | 'now' | 'uuid' | 'withdraw';

/** How something begun ended: a value, or the failure that the handler sees. */
export type CallOutcome = { readonly value: JsonValue } | { readonly failure: Failure };

/** A failure as the journal keeps it. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly data?: JsonValue;
}

/** The handler began something. */
export interface BeginEntry {
  readonly seq: number;
  readonly type: 'begin';
  readonly kind: CallKind;
  readonly name: string;
  /** 1 for the first call of this kind and name, 2 for the second, and so on. */
  readonly ordinal: number;
  /** The value of a `now` or `uuid`; when a sleep or a question's patience is over (ms since the epoch); a subtask's id. */
  readonly value?: JsonValue;
}

/** Something that was begun ended; `begin` is the number of its begin entry. */
export interface EndEntry {
  readonly seq: number;
  readonly type: 'end';
  readonly begin: number;
  readonly outcome: CallOutcome;
}

/**
 * A run failed and is tried again: the end entry `end`, whose failure it failed with, is void, and so is
 * all that was begun after it. Without `end` nothing is: the handler fails anew, or does not.
 */
export interface RetryEntry {
  readonly seq: number;
  readonly type: 'retry';
  readonly end?: number;
}

/** One line of a task's journal. Numbers (`seq`) start at 0 and have no gaps. */
export type JournalEntry = BeginEntry | EndEntry | RetryEntry;
