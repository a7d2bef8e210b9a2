import type { Clock } from '../../clock.ts';
import type { LoggedEvent } from '../../task/event.ts';
import type { JournalEntry } from '../../task/journal.ts';
import type { Task } from '../../task/task.ts';
import { grow } from '../../task/transitions.ts';
import type { Parcel, Transition } from './record.ts';
import { Showing, type Shown } from './showing.ts';

/** So many subtasks are made in one command; the event loop goes on between two. */
const BORN_AT_ONCE = 200;

/** What a run has to say beside its journal: events, subtasks, and what is shown. Every write takes all of it along. */
export class Outbox {
  readonly #clock: Clock;
  readonly #write: () => Promise<unknown>;
  readonly #abandon: (error: unknown) => void;
  #showing: Showing | undefined;
  #events: LoggedEvent[] = [];
  #born: Task[] = [];
  #spawning: Promise<unknown> | undefined;

  /** `write` makes a write for the outbox alone; it reports its own failures to `abandon`. */
  constructor(clock: Clock, write: () => Promise<unknown>, abandon: (error: unknown) => void) {
    this.#clock = clock;
    this.#write = write;
    this.#abandon = abandon;
  }

  note(event: LoggedEvent): void {
    this.#events.push(event);
  }

  /** Shows something soon, or, where `hurries` is false, with whatever write comes. */
  show(shown: Shown, hurries: boolean): void {
    this.#showing ??= new Showing(this.#clock, this.#write, this.#abandon);
    this.#showing.put(shown);
    if (hurries) this.#showing.hurry();
  }

  /** What the replay wanted shown is mostly shown already; the rest is, soon. */
  caughtUp(task: Task): void {
    this.#showing?.settle(task);
    this.#showing?.hurry();
  }

  /** Keeps a subtask with a write that comes soon. Resolves after it. */
  spawn(subtask: Task): Promise<unknown> {
    this.#born.push(subtask);
    this.note({ kind: 'subtask', key: subtask.parent!.key, taskId: subtask.id, tool: subtask.tool });
    if (this.#born.length >= BORN_AT_ONCE) return this.#write();
    return (this.#spawning ??= this.#spawnSoon());
  }

  take(entries: readonly JournalEntry[]): Parcel {
    const [events, subtasks, shown] = [this.#events, this.#born, this.#showing?.take()];
    this.#events = [];
    this.#born = [];
    if (shown !== undefined) events.push(shown.event);
    const gains = { entries, events, subtasks };
    if (shown === undefined && subtasks.length === 0) return { gains, with: same };
    return {
      gains,
      with: (transition) => (task, now) => transition(grow(shown?.apply(task, now) ?? task, subtasks.length, now), now),
    };
  }

  stop(): void {
    this.#showing?.stop();
  }

  /** Most handlers begin several at once. */
  async #spawnSoon(): Promise<void> {
    const over = this.#clock.busy(this.#born);
    await new Promise((resolve) => setImmediate(resolve));
    this.#spawning = undefined;
    await this.#write().finally(over);
  }
}

function same(transition: Transition): Transition {
  return transition;
}
