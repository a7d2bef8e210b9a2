/** A length of time: a number of ms, or a number with a unit, such as `'800ms'`, `'30s'`, `'5m'`, `'2h'`, `'7d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

/** A hundred years, in ms: dates beyond would not be dates for everyone. */
const LONGEST = 100 * 365 * 86_400_000;

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration in whole ms. Throws a `TypeError` that names what is wrong. */
export function toMs(duration: Duration, what = 'duration'): number {
  const match = typeof duration === 'string' ? /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration) : undefined;
  const ms = match ? Number(match[1]) * UNITS[match[2]!]! : duration;
  if (typeof ms !== 'number' || !(ms >= 0 && ms <= LONGEST)) {
    throw new TypeError(
      `${what}: ${typeof duration === 'number' ? duration : JSON.stringify(duration)} is no length of time; write ms as a number, or '800ms', '30s', '5m', '2h', '7d'; 100 years at most`,
    );
  }
  return Math.round(ms);
}
