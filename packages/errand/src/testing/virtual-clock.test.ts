import { describe, expect, it, vi } from 'vitest';
import { START, virtualClock } from './virtual-clock.ts';

const DAY = 86_400_000;
const real = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('a virtual clock', () => {
  it('starts where it is documented, or where it is told, and stands still', async () => {
    const clock = virtualClock();
    await real(5);
    expect(new Date(clock.now()).toISOString()).toBe('2026-01-01T00:00:00.000Z');
    expect(clock.elapsed()).toBe(0);
    expect(virtualClock({ start: 5 * DAY }).now()).toBe(5 * DAY);
    expect(virtualClock({ start: new Date('2030-02-03') }).now()).toBe(Date.parse('2030-02-03'));
    expect(() => virtualClock({ start: new Date('soon') })).toThrow('start is a date');
  });

  it('rings what is due on the way, in order, each at its time', async () => {
    const clock = virtualClock();
    const rung: string[] = [];
    const note = (name: string) => () => rung.push(`${name} at ${clock.elapsed()}`);
    clock.after(2000, note('c'));
    clock.after(1000, note('a'));
    clock.after(1000, note('b'));
    clock.after(2001, note('d'));
    await clock.advance('2s');
    expect(rung).toEqual(['a at 1000', 'b at 1000', 'c at 2000']);
    expect(clock.elapsed()).toBe(2000);
    await clock.advance(1);
    expect(rung.at(-1)).toBe('d at 2001');
  });

  it('rings what was set on the way', async () => {
    const clock = virtualClock();
    let days = 0;
    const again = (): void => {
      days++;
      clock.after(DAY, again);
    };
    clock.after(DAY, again);
    await clock.advance('100d');
    expect(days).toBe(100);
  });

  it('reaches as far as durations do', async () => {
    const clock = virtualClock();
    const action = vi.fn();
    clock.after(90 * 365 * DAY, action);
    await clock.advance(90 * 365 * DAY - 1);
    expect(action).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(action).toHaveBeenCalledOnce();
  });

  it('does not ring what was stopped, be it by what rings at the same time', async () => {
    const clock = virtualClock();
    const action = vi.fn();
    const stops = [5, 10, 10, 20].map((ms) => clock.after(ms, action));
    stops[0]!();
    clock.after(7, () => stops[3]!());
    const early = clock.after(7, action);
    early();
    clock.after(9, () => stops[1]!());
    clock.after(9, () => stops[2]!());
    await clock.advance('1h');
    for (const stop of stops) stop();
    expect(action).not.toHaveBeenCalled();
  });

  it('rings what is due at once without being turned, but not within the call', async () => {
    const clock = virtualClock();
    const action = vi.fn();
    clock.after(0, action);
    clock.after(-5, action);
    clock.after(0, action)();
    expect(action).not.toHaveBeenCalled();
    await clock.settle();
    expect(action).toHaveBeenCalledTimes(2);
    expect(clock.elapsed()).toBe(0);
  });

  it('looks once after a leap, not once for each time it would have looked', async () => {
    const clock = virtualClock();
    const looks: number[] = [];
    const stop = clock.every(1000, () => looks.push(clock.elapsed()));
    clock.after(2500, () => undefined);
    await clock.advance('1ms');
    expect(looks).toEqual([]);
    await clock.advance('30d');
    expect(looks).toEqual([2500, 30 * DAY + 1]);
    stop();
    await clock.advance('1d');
    expect(looks).toHaveLength(2);
  });

  it('goes from timer to timer, and says when there is none', async () => {
    const clock = virtualClock();
    const action = vi.fn();
    clock.after(DAY, action);
    expect(await clock.advanceToNext()).toBe(true);
    expect(clock.elapsed()).toBe(DAY);
    expect(action).toHaveBeenCalledOnce();
    expect(await clock.advanceToNext()).toBe(false);
    expect(clock.elapsed()).toBe(DAY);
  });

  it('goes to a date, and never back', async () => {
    const clock = virtualClock();
    await clock.advanceTo(new Date('2026-02-01'));
    expect(clock.now()).toBe(Date.parse('2026-02-01'));
    await clock.advanceTo(clock.now());
    await expect(clock.advanceTo(START)).rejects.toThrow('does not go back');
    await expect(clock.advance(-1)).rejects.toThrow('no length of time');
  });

  it('makes one turn after the other where several are asked for at once', async () => {
    const clock = virtualClock();
    const rung: number[] = [];
    for (const ms of [1, 5, 9]) clock.after(ms, () => rung.push(clock.elapsed()));
    await Promise.all([clock.advance(3), clock.advanceToNext(), clock.advance(4)]);
    expect(rung).toEqual([1, 5, 9]);
    expect(clock.elapsed()).toBe(9);
  });

  it('passes on what a timer throws to whoever turns it, and can be turned on', async () => {
    const clock = virtualClock();
    clock.after(1, () => {
      throw new Error('bang');
    });
    await expect(clock.advance(5)).rejects.toThrow('bang');
    await clock.advance(5);
  });
});

describe('a virtual clock stands still', () => {
  it('while work is under way that takes real time', async () => {
    const clock = virtualClock();
    const at: number[] = [];
    clock.after(10, () => real(20).then(() => at.push(clock.elapsed())));
    clock.after(20, () => {
      const over = clock.busy({});
      setTimeout(() => {
        at.push(clock.elapsed());
        over();
      }, 20);
    });
    clock.after(30, () => at.push(clock.elapsed()));
    await clock.advance('1h');
    expect(at).toEqual([10, 20, 30]);
  });

  it('for as long as it is told, once: work may wait for the test', async () => {
    const clock = virtualClock({ patience: '20ms' });
    clock.busy({});
    const action = vi.fn();
    clock.after(DAY, action);
    clock.after(2 * DAY, action);
    const before = performance.now();
    await clock.advance('1d');
    expect(action).toHaveBeenCalledOnce();
    expect(performance.now() - before).toBeGreaterThan(19);
    const looks = vi.spyOn(globalThis, 'setTimeout');
    await clock.advance('1d');
    expect(action).toHaveBeenCalledTimes(2);
    expect(looks).not.toHaveBeenCalled();
    looks.mockRestore();
  });
});

describe('sleeping by a virtual clock', () => {
  it('takes its time', async () => {
    const clock = virtualClock();
    const woken = clock.sleep('2h').then(() => clock.elapsed());
    await clock.advance('3h');
    expect(await woken).toBe(2 * 3_600_000);
    await clock.sleep(0);
  });

  it('ends when its signal aborts', async () => {
    const clock = virtualClock();
    const abort = new AbortController();
    const sleep = clock.sleep('2h', { signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(sleep).rejects.toThrow('enough');
    await expect(clock.sleep('2h', { signal: abort.signal })).rejects.toThrow('enough');
    expect(await clock.advanceToNext()).toBe(false);
  });
});
