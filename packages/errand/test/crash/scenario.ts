import type { ToolOptions } from '../../src/index.ts';
import type { Diary } from './diary.ts';

/** A tool that the subtasks of a kind of work call. */
export interface Part {
  readonly name: string;
  readonly options?: ToolOptions;
  /** Gives the text of its result. `name` is what its task was told to be called. */
  readonly handler: (diary: Diary, name: string) => Promise<string>;
}

/** One kind of work of the load: a tool, and what its caller does about it. */
export interface Scenario {
  /** Also the name of the tool. */
  readonly name: string;
  readonly options?: ToolOptions;
  /** Gives the text of the tool's result: the same in every run that nobody disturbs. */
  readonly handler: (diary: Diary) => Promise<string>;
  /** Which questions the caller answers, and how long it thinks about each, in ms. */
  readonly answers?: Readonly<Record<string, number>>;
  /** The text that makes the caller cancel. */
  readonly cancelsAt?: string;
  /** The text that makes the caller pause the task; it resumes it when it has waited so long, in ms. */
  readonly pauses?: { readonly at: string; readonly lasts: number };
  /** What the caller tells the task, each thing at a text. */
  readonly tells?: Readonly<Record<string, string>>;
  /** Whether the call is made under an idempotency key, and made again when it was answered. */
  readonly keyed?: true;
  /** Whether the caller polls on until the task has vanished. */
  readonly outlives?: true;
  /** How it ends where nobody is killed. */
  readonly end: string;
  /** How else it may end where its server is killed, and why that is right. */
  readonly otherEnds?: Readonly<Record<string, string>>;
}

/** What is killed at each of its writes: some work, at once. */
export interface Cast {
  readonly name: string;
  readonly scenarios: readonly Scenario[];
  /** Whether each of its writes is killed at one moment only, in turn: it has many of the same kind. */
  readonly inTurn?: true;
}
