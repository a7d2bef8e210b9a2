import type { Task } from '../../task/task.ts';
import type { Slots, Ticket } from '../slots.ts';

/** A run's claim to a slot: held, waited for, or given back. */
export class Place {
  readonly #slots: Slots;
  readonly #tool: string;
  readonly #isSubtask: boolean;
  #held = false;
  #waiting: { readonly granted: Promise<void>; ticket?: Ticket } | undefined;

  constructor(slots: Slots, { tool, parent }: Pick<Task, 'tool' | 'parent'>) {
    this.#slots = slots;
    this.#tool = tool;
    this.#isSubtask = parent !== undefined;
  }

  get held(): boolean {
    return this.#held;
  }

  /** Claims a slot. `undefined` where it is held at once, else a promise that it will be. */
  take(): Promise<void> | undefined {
    if (this.#held) return undefined;
    if (this.#waiting !== undefined) return this.#waiting.granted;
    let grant!: () => void;
    const waiting: { granted: Promise<void>; ticket?: Ticket } = {
      granted: new Promise<void>((resolve) => (grant = resolve)),
    };
    this.#waiting = waiting;
    waiting.ticket = this.#slots.acquire(
      this.#tool,
      () => {
        this.#held = true;
        this.#waiting = undefined;
        grant();
      },
      this.#isSubtask,
    );
    return this.#held ? undefined : waiting.granted;
  }

  /** Gives the slot back, or the claim to one up; whoever waits for it waits for ever. */
  leave(): void {
    this.#waiting?.ticket?.cancel();
    this.#waiting = undefined;
    if (!this.#held) return;
    this.#held = false;
    this.#slots.release(this.#tool);
  }
}
