/** How often the line is written anew, in ms. */
const EVERY = 500;

/** Shows how far something is, where somebody looks at a terminal. */
export interface Progress {
  at(done: number): void;
  /** Takes the line away again. */
  end(): void;
}

export function progressOf(what: string, total: number): Progress {
  const begun = performance.now();
  let shownAt = begun;
  return {
    at(done) {
      const now = performance.now();
      if (!process.stderr.isTTY || now < shownAt + EVERY) return;
      shownAt = now;
      const perSecond = done / ((now - begun) / 1000);
      const left = duration((total - done) / perSecond);
      process.stderr.write(`\r\x1b[K${what}: ${count(done)} of ${count(total)}, ${count(perSecond)}/s, ${left} left`);
    },
    end() {
      if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
    },
  };
}

function count(number: number): string {
  return Math.round(number).toLocaleString('en-US');
}

function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '?';
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}
