import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../clock.ts';
import { coalesce } from './coalesce.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Work that takes so long each time, and how often it was begun. */
function work(ms: number) {
  return vi.fn(() => new Promise<void>((resolve) => setTimeout(resolve, ms)));
}

it('works at once when it is called, and not by itself', async () => {
  const worked = work(10);
  const call = coalesce(systemClock, worked);
  await vi.advanceTimersByTimeAsync(1000);
  expect(worked).not.toHaveBeenCalled();
  call();
  expect(worked).toHaveBeenCalledOnce();
  await vi.advanceTimersByTimeAsync(1000);
  expect(worked).toHaveBeenCalledOnce();
});

it('does once more what was asked for meanwhile, after a rest of nine times its length', async () => {
  const worked = work(10);
  const call = coalesce(systemClock, worked);
  for (let calls = 0; calls < 5; calls++) call();
  await vi.advanceTimersByTimeAsync(20);
  call();
  await vi.advanceTimersByTimeAsync(79);
  expect(worked).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(worked).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(1000);
  expect(worked).toHaveBeenCalledTimes(2);
  call();
  expect(worked).toHaveBeenCalledTimes(3);
});

it('tries what failed again in a second, until it succeeds', async () => {
  const worked = vi.fn(async () => undefined).mockRejectedValueOnce(new Error('away'));
  coalesce(systemClock, worked)();
  await vi.advanceTimersByTimeAsync(999);
  expect(worked).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(worked).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(5000);
  expect(worked).toHaveBeenCalledTimes(2);
});
