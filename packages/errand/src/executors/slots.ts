/** A place in the queue for a slot. */
export interface Ticket {
  /** Gives the place up. */
  cancel(): void;
}

/** Runs of one kind that wait for a slot: per tool, in the order of arrival. */
type Queues = Map<string, Map<number, () => void>>;

/**
 * Limits how many runs are busy, in all and per tool. Whoever waits is served oldest first; where
 * subtasks wait beside calls, they take turns, so that a handler with thousands of subtasks holds
 * up nobody else.
 */
export class Slots {
  readonly #limit: number;
  readonly #limitOf: (tool: string) => number;
  readonly #busyOf = new Map<string, number>();
  readonly #calls: Queues = new Map();
  readonly #subtasks: Queues = new Map();
  #subtasksAreNext = false;
  #busy = 0;
  #arrivals = 0;

  constructor(limit: number, limitOf: (tool: string) => number) {
    this.#limit = limit;
    this.#limitOf = limitOf;
  }

  /** How many wait, but for subtasks. */
  get waiting(): number {
    let waiting = 0;
    for (const queue of this.#calls.values()) waiting += queue.size;
    return waiting;
  }

  /** How many more of a tool could begin at once. */
  free(tool: string): number {
    return Math.min(this.#limit - this.#busy, this.#limitOf(tool) - (this.#busyOf.get(tool) ?? 0));
  }

  /** Calls `granted` when a slot is there, at once if one is. */
  acquire(tool: string, granted: () => void, isSubtask = false): Ticket {
    const arrival = this.#arrivals++;
    const queues = isSubtask ? this.#subtasks : this.#calls;
    const queue = queues.get(tool) ?? new Map<number, () => void>();
    queue.set(arrival, granted);
    queues.set(tool, queue);
    this.#serve();
    return { cancel: () => leave(queues, tool, arrival) };
  }

  release(tool: string): void {
    this.#busy--;
    const left = this.#busyOf.get(tool)! - 1;
    if (left === 0) this.#busyOf.delete(tool);
    else this.#busyOf.set(tool, left);
    this.#serve();
  }

  #serve(): void {
    while (this.#busy < this.#limit) {
      const [first, second] = this.#subtasksAreNext ? [this.#subtasks, this.#calls] : [this.#calls, this.#subtasks];
      const queues = this.#oldestIn(first) ? first : second;
      const next = this.#oldestIn(queues);
      if (next === undefined) return;
      this.#subtasksAreNext = queues === this.#calls;
      const granted = queues.get(next.tool)!.get(next.arrival)!;
      leave(queues, next.tool, next.arrival);
      this.#busy++;
      this.#busyOf.set(next.tool, (this.#busyOf.get(next.tool) ?? 0) + 1);
      granted();
    }
  }

  /** The one that waits longest among the tools that are below their limit. */
  #oldestIn(queues: Queues): { tool: string; arrival: number } | undefined {
    let oldest: { tool: string; arrival: number } | undefined;
    for (const [tool, queue] of queues) {
      if ((this.#busyOf.get(tool) ?? 0) >= this.#limitOf(tool)) continue;
      const arrival = queue.keys().next().value!;
      if (oldest === undefined || arrival < oldest.arrival) oldest = { tool, arrival };
    }
    return oldest;
  }
}

function leave(queues: Queues, tool: string, arrival: number): void {
  const queue = queues.get(tool);
  if (queue?.delete(arrival) && queue.size === 0) queues.delete(tool);
}
