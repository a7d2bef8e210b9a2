import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { delay, systemClock } from './clock.ts';

const DAY = 86_400_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe("the system's clock", () => {
  it('reads what the machine reads, and how much time has passed whatever it is set to', () => {
    const before = systemClock.elapsed();
    vi.setSystemTime(5 * DAY);
    vi.advanceTimersByTime(250);
    expect(systemClock.now()).toBe(5 * DAY + 250);
    expect(systemClock.elapsed() - before).toBe(250);
  });

  it('waits as long as it is told, however it is set meanwhile', () => {
    const action = vi.fn();
    systemClock.after(1000, action);
    vi.setSystemTime(0);
    vi.advanceTimersByTime(999);
    expect(action).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(action).toHaveBeenCalledOnce();
  });

  it('waits 60 days, though timers of the platform end at 24', () => {
    const action = vi.fn();
    systemClock.after(60 * DAY, action);
    vi.advanceTimersByTime(60 * DAY - 1);
    expect(action).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(action).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(100 * DAY);
    expect(action).toHaveBeenCalledOnce();
  });

  it.each([0, 100, 40 * DAY])('calls nobody who went away after %d ms', (after) => {
    const action = vi.fn();
    const stop = systemClock.after(60 * DAY, action);
    vi.advanceTimersByTime(after);
    stop();
    vi.advanceTimersByTime(100 * DAY);
    expect(action).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('calls again and again', () => {
    const action = vi.fn();
    const stop = systemClock.every(1000, action);
    vi.advanceTimersByTime(3500);
    stop();
    vi.advanceTimersByTime(3500);
    expect(action).toHaveBeenCalledTimes(3);
  });

  it('lets whoever has nothing else to do wait', async () => {
    let over = false;
    const waited = delay(systemClock, 100).then(() => (over = true));
    await vi.advanceTimersByTimeAsync(99);
    expect(over).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await waited;
    expect(over).toBe(true);
  });

  it('keeps no process alive', () => {
    vi.useRealTimers();
    const alive = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = alive();
    const stops = [
      systemClock.after(60 * DAY, vi.fn()),
      systemClock.after(1000, vi.fn()),
      systemClock.every(1, vi.fn()),
    ];
    expect(alive()).toBe(before);
    for (const stop of stops) stop();
  });
});
