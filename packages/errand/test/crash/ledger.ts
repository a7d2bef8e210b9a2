import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { JsonValue } from '../../src/json.ts';
import type { CallKind } from '../../src/task/journal.ts';

/*
 * What happened, kept outside the server: a file that grows by a line at a time. A line that was
 * written is there however the process dies.
 */

/** Something that a handler was given: by what kind of call, under which name, and what. */
export type Seen = readonly [kind: CallKind, name: string, value: JsonValue];

/** An effect took place: the body of a step ran, or a handler that has no steps for it. */
export interface Effect {
  readonly type: 'effect';
  /** Which life of the server: 1 until it is killed first, and so on. */
  readonly life: number;
  readonly task: string;
  readonly step: string;
  /** Ms since the epoch. */
  readonly at: number;
  readonly attempt: number;
  readonly key: string;
  /** Must never take place twice for its task. */
  readonly once: boolean;
  /** All that the handler held when it began the step. */
  readonly given: readonly Seen[];
  /** What the step returns, different each time it runs. */
  readonly gave: string;
}

/** The store was given a write. */
export interface Write {
  readonly type: 'write';
  readonly life: number;
  readonly number: number;
  readonly sweep: boolean;
  /** What it wrote, once that is known. */
  readonly what: string;
}

export type Line = Effect | Write;

export interface Ledger {
  readonly life: number;
  note(line: Omit<Effect, 'life'> | Omit<Write, 'life'>): void;
}

/** For the server: appends to a file. */
export function openLedger(file: string, life: number): Ledger {
  return { life, note: (line) => appendFileSync(file, `${JSON.stringify({ ...line, life })}\n`) };
}

/** For who looks on: all lines so far. */
export function readLedger(file: string): readonly Line[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

export function effectsOf(lines: readonly Line[]): readonly Effect[] {
  return lines.filter((line) => line.type === 'effect');
}
