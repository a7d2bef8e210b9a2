import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../clock.ts';
import { setAlarm } from './alarm.ts';

const DAY = 86_400_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe('an alarm', () => {
  const now = (): number => Date.now();

  it('rings once, when it is time', () => {
    const action = vi.fn();
    setAlarm(systemClock, now() + 500, now, action);
    vi.advanceTimersByTime(499);
    expect(action).not.toHaveBeenCalled();
    vi.advanceTimersByTime(5000);
    expect(action).toHaveBeenCalledOnce();
  });

  it('rings at once, but not within the call, where the time has passed', () => {
    const action = vi.fn();
    setAlarm(systemClock, now() - 500, now, action);
    expect(action).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(action).toHaveBeenCalledOnce();
  });

  it('rings in 60 days, though timers end at 24', () => {
    const action = vi.fn();
    setAlarm(systemClock, now() + 60 * DAY, now, action);
    vi.advanceTimersByTime(60 * DAY - 1);
    expect(action).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(action).toHaveBeenCalledOnce();
  });

  it('never rings before its time, though timers may, and clocks may stand still', () => {
    let clock = 1000;
    const action = vi.fn();
    setAlarm(systemClock, 1010, () => clock, action);
    clock = 1009; // what a timer that fires early finds
    vi.advanceTimersByTime(10);
    expect(action).not.toHaveBeenCalled();
    clock = 1010;
    vi.advanceTimersByTime(1);
    expect(action).toHaveBeenCalledOnce();
  });

  it('does not look for its time all the time where a clock stands still right before it', () => {
    let clock = 1000;
    let looks = 0;
    const action = vi.fn();
    setAlarm(systemClock, 1010, () => (looks++, clock), action);
    clock = 1009;
    vi.advanceTimersByTime(10_000);
    expect(looks).toBeLessThan(200);
    clock = 1010;
    vi.advanceTimersByTime(250);
    expect(action).toHaveBeenCalledOnce();
  });

  it.each([0, 100, 40 * DAY])('that was stopped after %d ms does not ring', (after) => {
    const action = vi.fn();
    const stop = setAlarm(systemClock, now() + 60 * DAY, now, action);
    vi.advanceTimersByTime(after);
    stop();
    vi.advanceTimersByTime(100 * DAY);
    expect(action).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });
});
