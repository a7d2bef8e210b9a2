import type { ToolOptions } from '../../src/index.ts';
import type { Diary } from './diary.ts';

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
  /** Whether the caller polls on until the task has vanished. */
  readonly outlives?: true;
  /** How it ends where nobody is killed. */
  readonly end: string;
  /** How else it may end where its server is killed, and why that is right. */
  readonly otherEnds?: Readonly<Record<string, string>>;
}
