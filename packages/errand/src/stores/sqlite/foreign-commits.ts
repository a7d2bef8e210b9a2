/** How often to look, in ms. A look takes some 5 µs, and no disk. */
const LOOK_EVERY = 20;

/** Tells listeners that other processes have committed something. Looks only while somebody listens. */
export class ForeignCommits {
  readonly #look: () => boolean;
  readonly #listeners = new Set<() => void>();
  #looks: NodeJS.Timeout | undefined;

  /** `look` says whether there was something new since the last look; where it throws, the next one will tell. */
  constructor(look: () => boolean) {
    this.#look = look;
  }

  listen(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    this.#looks ??= setInterval(() => this.#tell(), LOOK_EVERY).unref();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#looks);
      this.#looks = undefined;
    };
  }

  #tell(): void {
    try {
      if (!this.#look()) return;
    } catch {
      return; // who reads or writes meanwhile is told what is wrong
    }
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (thrown) {
        process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
      }
    }
  }
}
