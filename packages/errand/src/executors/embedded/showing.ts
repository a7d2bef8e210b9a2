import type { Clock } from '../../clock.ts';
import type { LoggedEvent } from '../../task/event.ts';
import type { Progress, Task } from '../../task/task.ts';
import { describe, progress } from '../../task/transitions.ts';

/** Writes that show nothing but this are so far apart, in ms: five a second. */
const APART = 200;

/** What a handler wants shown of its task. */
export interface Shown {
  readonly message?: string;
  readonly progress?: Progress;
}

/** Holds what is to be shown until a write takes it along; where none does, it has one made, but not too often. */
export class Showing {
  readonly #clock: Clock;
  readonly #flush: () => Promise<unknown>;
  readonly #abandon: (error: unknown) => void;
  #shown: Shown | undefined;
  #flushing = false;
  #flushedAt = -Infinity;
  #stopTimer: (() => void) | undefined;

  constructor(clock: Clock, flush: () => Promise<unknown>, abandon: (error: unknown) => void) {
    this.#clock = clock;
    this.#flush = flush;
    this.#abandon = abandon;
  }

  /** Keeps the latest of each. */
  put(shown: Shown): void {
    this.#shown = { ...this.#shown, ...shown };
  }

  /** What the next write is to show, and the event that tells of it. */
  take(): { readonly apply: (task: Task, now: number) => Task; readonly event: LoggedEvent } | undefined {
    if (this.#shown === undefined) return undefined;
    const { message, progress: reached } = this.#shown;
    this.#shown = undefined;
    return {
      apply(task, now) {
        const moved = reached === undefined ? task : progress(task, reached, now);
        return message === undefined ? moved : describe(moved, message, now);
      },
      event: { kind: 'progress', ...(reached && { progress: reached }), ...(message !== undefined && { message }) },
    };
  }

  /** Forgets what is shown already: a replay mostly comes to the same again. */
  settle({ statusMessage, progress: reached }: Task): void {
    if (this.#shown === undefined) return;
    const { message, progress: wanted } = this.#shown;
    const isNew = message !== undefined && message !== statusMessage;
    const isFurther = wanted !== undefined && (wanted.done > (reached?.done ?? -1) || wanted.total !== reached?.total);
    if (!isNew && !isFurther) this.#shown = undefined;
  }

  /** Sees to it that it is shown soon. */
  hurry(): void {
    if (this.#shown === undefined || this.#flushing || this.#stopTimer !== undefined) return;
    const wait = this.#flushedAt + APART - this.#clock.elapsed();
    if (wait > 0) {
      this.#stopTimer = this.#clock.after(wait, () => {
        this.#stopTimer = undefined;
        this.hurry();
      });
      return;
    }
    this.#flushing = true;
    this.#flushedAt = this.#clock.elapsed();
    this.#flush().then(() => {
      this.#flushing = false;
      this.hurry();
    }, this.#abandon);
  }

  stop(): void {
    this.#stopTimer?.();
    this.#shown = undefined;
  }
}
