import { expect, test } from 'vitest';
import { SteadyClock } from './clock.ts';

const MINUTE = 60_000;

function clockAt(start: number) {
  const system = { time: start };
  return { system, clock: new SteadyClock(() => system.time) };
}

test('a step back is waited out', () => {
  const { system, clock } = clockAt(10 * MINUTE);
  expect(clock.now()).toBe(10 * MINUTE);
  system.time = 6 * MINUTE;
  expect(clock.now()).toBe(10 * MINUTE);
  system.time = 9 * MINUTE;
  expect(clock.now()).toBe(10 * MINUTE);
  system.time = 11 * MINUTE;
  expect(clock.now()).toBe(11 * MINUTE);
});

test('a step back by more than five minutes does not stop the clock', () => {
  const { system, clock } = clockAt(100 * MINUTE);
  clock.now();
  system.time = 10 * MINUTE;
  expect(clock.now()).toBe(100 * MINUTE);
  system.time = 12 * MINUTE;
  expect(clock.now()).toBe(102 * MINUTE);
  system.time = 11 * MINUTE;
  expect(clock.now()).toBe(102 * MINUTE);
});

test('a time on record is where the clock starts', () => {
  const { system, clock } = clockAt(10 * MINUTE);
  expect(clock.startFrom(12 * MINUTE)).toBe(true);
  expect(clock.now()).toBe(12 * MINUTE);
  system.time = 13 * MINUTE;
  expect(clock.now()).toBe(13 * MINUTE);
});

test('a time on record that is far ahead is not believed', () => {
  const { clock } = clockAt(10 * MINUTE);
  expect(clock.startFrom(16 * MINUTE)).toBe(false);
  expect(clock.now()).toBe(10 * MINUTE);
});
