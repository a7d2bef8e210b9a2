/** A place in the queue for a slot. */
export interface Ticket {
  /** Gives the place up. */
  cancel(): void;
}

/** Limits how many runs are busy, in all and per tool. Whoever waits is served oldest first. */
export class Slots {
  readonly #limit: number;
  readonly #limitOf: (tool: string) => number;
  readonly #busyOf = new Map<string, number>();
  /** Per tool, in the order of arrival. */
  readonly #queues = new Map<string, Map<number, () => void>>();
  #busy = 0;
  #arrivals = 0;

  constructor(limit: number, limitOf: (tool: string) => number) {
    this.#limit = limit;
    this.#limitOf = limitOf;
  }

  /** How many wait. */
  get waiting(): number {
    let waiting = 0;
    for (const queue of this.#queues.values()) waiting += queue.size;
    return waiting;
  }

  /** How many more of a tool could begin at once. */
  free(tool: string): number {
    return Math.min(this.#limit - this.#busy, this.#limitOf(tool) - (this.#busyOf.get(tool) ?? 0));
  }

  /** Calls `granted` when a slot is there, at once if one is. */
  acquire(tool: string, granted: () => void): Ticket {
    const arrival = this.#arrivals++;
    const queue = this.#queues.get(tool) ?? new Map<number, () => void>();
    queue.set(arrival, granted);
    this.#queues.set(tool, queue);
    this.#serve();
    return { cancel: () => this.#leave(tool, arrival) };
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
      const next = this.#oldest();
      if (next === undefined) return;
      const granted = this.#queues.get(next.tool)!.get(next.arrival)!;
      this.#leave(next.tool, next.arrival);
      this.#busy++;
      this.#busyOf.set(next.tool, (this.#busyOf.get(next.tool) ?? 0) + 1);
      granted();
    }
  }

  /** The one that waits longest among the tools that are below their limit. */
  #oldest(): { tool: string; arrival: number } | undefined {
    let oldest: { tool: string; arrival: number } | undefined;
    for (const [tool, queue] of this.#queues) {
      if ((this.#busyOf.get(tool) ?? 0) >= this.#limitOf(tool)) continue;
      const arrival = queue.keys().next().value!;
      if (oldest === undefined || arrival < oldest.arrival) oldest = { tool, arrival };
    }
    return oldest;
  }

  #leave(tool: string, arrival: number): void {
    const queue = this.#queues.get(tool);
    if (queue?.delete(arrival) && queue.size === 0) this.#queues.delete(tool);
  }
}
