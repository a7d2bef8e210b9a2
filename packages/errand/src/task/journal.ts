import type { JsonValue } from '../json.ts';

/** What a handler can begin. `now`, `uuid` and `withdraw` are over as soon as they are begun. */
export type CallKind = 'step' | 'input' | 'sleep' | 'subtask' | 'steering' | 'now' | 'uuid' | 'withdraw';

/** The value of the begin of a step that must never run twice. */
export const AT_MOST_ONCE = 'atMostOnce';

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

/** The entries that still count: what a retry made void is left out. */
export function counting(entries: readonly JournalEntry[]): readonly (BeginEntry | EndEntry)[] {
  let kept: (BeginEntry | EndEntry)[] = [];
  for (const entry of entries) {
    if (entry.type !== 'retry') kept.push(entry);
    else if (entry.end !== undefined) {
      const { end } = entry;
      kept = kept.filter((one) => one.seq !== end && (one.type === 'begin' ? one.seq : one.begin) < end);
    }
  }
  return kept;
}

/**
 * Whether the step that ended so can be run again, and with it all that was begun after its end: no
 * question is asked twice, no subtask made twice, and no step run again that must run once.
 */
export function isRepeatable(entries: readonly JournalEntry[], end: EndEntry): boolean {
  const begins = entries.filter((entry) => entry.type === 'begin');
  return begins
    .filter(({ seq }) => seq === end.begin || seq > end.seq)
    .every(({ seq, kind, value }) =>
      seq === end.begin || kind === 'step'
        ? kind === 'step' && value !== AT_MOST_ONCE
        : kind === 'sleep' || kind === 'now' || kind === 'uuid',
    );
}
