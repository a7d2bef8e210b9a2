import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toMs, type Duration } from './duration.ts';

describe('a duration', () => {
  it.each<[Duration, number]>([
    [0, 0],
    [250, 250],
    [1.4, 1],
    ['0ms', 0],
    ['800ms', 800],
    ['30s', 30_000],
    ['1.5s', 1500],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
  ])('%j is %d ms', (duration, ms) => {
    expect(toMs(duration)).toBe(ms);
  });

  it('is a whole number of ms, whatever the unit', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.constantFrom('ms', 's', 'm', 'h', 'd'), (tenths, unit) => {
        expect(Number.isInteger(toMs(`${tenths / 10}${unit}` as Duration))).toBe(true);
      }),
    );
  });

  it.each([-1, NaN, Infinity, '', '5', 's', '5 m', '-5s', '1e3s', '5min', ' 5s', '5s ', null, undefined, {}])(
    'is not %j, which is refused with what it was for',
    (wrong) => {
      expect(() => toMs(wrong as Duration, 'tool "x": deadline')).toThrow(TypeError);
      expect(() => toMs(wrong as Duration, 'tool "x": deadline')).toThrow(
        /^tool "x": deadline: .* is no length of time/,
      );
    },
  );
});
