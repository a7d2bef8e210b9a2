import type { Measured } from './measured.ts';

/** What was to be reached, and what was. */
export interface Target {
  readonly what: string;
  readonly reached: boolean;
  readonly figure: string;
}

/** Judges by the best of each subject's rounds; leaves out what was not measured. */
export function targets(measured: ReadonlyMap<string, Measured>): Target[] {
  const [a, c, d, e, f] = ['a', 'c', 'd', 'e', 'f'].map((key) => measured.get(key));
  const judged: Target[] = [];
  const atLeast = (what: string, figure: number, bound: number) =>
    judged.push({ what, figure: `${figure.toFixed(2)} ×`, reached: figure >= bound });
  if (c && d) {
    atLeast('d : c in cycles/s, at least 6 ×', d.best.perSecond / c.best.perSecond, 6);
    atLeast('c : d in CPU a cycle, at least 8 ×', c.leastCpu / d.leastCpu, 8);
  }
  if (a && e) atLeast('e : a in requests/s, at least 0.75 ×', e.best.perSecond / a.best.perSecond, 0.75);
  if (a && d) judged.push(atMost('d : a in CPU an operation', d.leastCpu / a.leastCpu, 6, '×'));
  if (f) judged.push(atMost('f p50', f.best.p50, 2, 'ms'));
  return judged;
}

/** A target that is reached where the figure is not above its bound. */
export function atMost(what: string, figure: number, bound: number, unit: string): Target {
  return {
    what: `${what}, at most ${bound} ${unit}`,
    figure: `${figure.toFixed(2)} ${unit}`,
    reached: figure <= bound,
  };
}
