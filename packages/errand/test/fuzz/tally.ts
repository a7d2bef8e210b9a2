/** How much to send, and what random numbers begin with. */
export interface Plan {
  readonly frames: number;
  readonly seed: number;
}

/** How often each kind of answer came. */
export class Tally {
  readonly #hits = new Map<string, number>();

  count(kind: string): void {
    this.#hits.set(kind, (this.#hits.get(kind) ?? 0) + 1);
  }

  get kinds(): readonly string[] {
    return [...this.#hits.keys()];
  }

  /** A table, one kind a line. */
  toString(): string {
    const rows = [...this.#hits].sort(([a], [b]) => (a < b ? -1 : 1));
    return rows.map(([kind, hits]) => `  ${kind.padEnd(44)}${String(hits).padStart(8)}`).join('\n');
  }
}
