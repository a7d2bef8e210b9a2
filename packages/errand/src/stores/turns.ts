/** Ownership within one process: one has it at a time, in the order in which they asked. */
export class Turns {
  readonly #queue: { readonly begin: () => void }[] = [];

  /** Calls `begin` when it is its turn, at once where nobody has it. Returns how to end the turn, or the wait for it. */
  take(begin: () => void): () => void {
    const turn = { begin };
    if (this.#queue.push(turn) === 1) begin();
    return () => {
      const place = this.#queue.indexOf(turn);
      if (place < 0) return;
      this.#queue.splice(place, 1);
      if (place === 0) this.#queue[0]?.begin();
    };
  }
}
