/** How a subtask stands to those that it runs after. */
export type Readiness =
  /** All of them have ended well, or how they ended does not matter. */
  | 'ready'
  /** Some have not ended, or were not begun so far. */
  | 'blocked'
  /** One of them failed, and it was not to run then. */
  | 'doomed';

/** Which subtasks of a task run after which others, by their keys. A key may be named before it is added. */
export class Graph {
  readonly #predecessors = new Map<string, readonly string[]>();
  readonly #dependants = new Map<string, string[]>();
  /** What has ended, and whether those after it may run. */
  readonly #ended = new Map<string, boolean>();

  /**
   * Adds a key that runs after others. Throws a `TypeError` where the key is there already, or where
   * this edge would close a cycle, which it names.
   */
  add(key: string, after: readonly string[]): void {
    if (this.#predecessors.has(key))
      throw new TypeError(`there is a subtask "${key}" already; each needs a key of its own`);
    // Nothing leads to a key that nobody has named.
    const cycle = after.includes(key) ? [key] : this.#dependants.has(key) ? this.#pathTo(key, after) : undefined;
    if (cycle !== undefined) {
      const names = [key, ...cycle].map((name) => `"${name}"`).join(' after ');
      throw new TypeError(`subtask "${key}" would close a cycle: ${names}`);
    }
    this.#predecessors.set(key, after);
    for (const name of new Set(after)) {
      const dependants = this.#dependants.get(name);
      if (dependants === undefined) this.#dependants.set(name, [key]);
      else dependants.push(key);
    }
  }

  /** Takes note that a subtask ended. Gives the keys of those that run after it, the first time. */
  end(key: string, letsOthersRun: boolean): readonly string[] {
    if (this.#ended.has(key)) return [];
    this.#ended.set(key, letsOthersRun);
    return this.#dependants.get(key) ?? [];
  }

  /** The first of those that a key runs after that has failed so that it does not run. */
  culpritOf(key: string): string | undefined {
    return this.#predecessors.get(key)?.find((name) => this.#ended.get(name) === false);
  }

  readinessOf(key: string): Readiness {
    let readiness: Readiness = 'ready';
    for (const name of this.#predecessors.get(key) ?? []) {
      const ended = this.#ended.get(name);
      if (ended === false) return 'doomed';
      if (ended === undefined) readiness = 'blocked';
    }
    return readiness;
  }

  /** A key that some subtask runs after and that was never added, with that subtask. */
  get missing(): { readonly key: string; readonly after: string } | undefined {
    for (const [after, [key]] of this.#dependants) {
      if (!this.#predecessors.has(after)) return { key: key!, after };
    }
    return undefined;
  }

  /** The keys from the first of `from` that leads to `key` down to `key` itself. */
  #pathTo(key: string, from: readonly string[]): string[] | undefined {
    const cameFrom = new Map<string, string | undefined>(from.map((name) => [name, undefined]));
    for (const name of cameFrom.keys()) {
      for (const before of this.#predecessors.get(name) ?? []) {
        if (cameFrom.has(before)) continue;
        cameFrom.set(before, name); // a map goes on to what is added to it
        if (before !== key) continue;
        const path: string[] = [];
        for (let at: string | undefined = key; at !== undefined; at = cameFrom.get(at)) path.unshift(at);
        return path;
      }
    }
    return undefined;
  }
}
