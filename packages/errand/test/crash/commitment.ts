import type { Task } from '../../src/task/task.ts';
import type { Answer } from './client.ts';
import type { Life, Remains } from './site.ts';
import type { Check } from './tally.ts';

/** A request was answered, or its server died meanwhile and nobody knows what became of it. */
export type Asked = Answer & { readonly life: Life };

/** Something that was acknowledged in a life, and must be true of the file from then on. */
export interface Commitment {
  readonly life: number;
  readonly check: Check;
  readonly what: string;
  /** `tasks` are all of the file. */
  holds(task: Task | undefined, tasks: Remains['tasks']): boolean;
}
