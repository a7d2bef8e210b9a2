import { expect, it, vi } from 'vitest';
import { inBites } from './bites.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

function begun(size: number) {
  const done: number[] = [];
  const over = vi.fn();
  const busy = vi.fn(() => over);
  const bite = inBites(size, busy);
  const give = (from: number, to: number): void => {
    for (let n = from; n < to; n++) bite(() => void done.push(n));
  };
  return { done, over, busy, bite, give };
}

it('does a few pieces at once, and says nothing of it', () => {
  const { done, busy, give } = begun(3);
  give(0, 3);
  expect(done).toEqual([0, 1, 2]);
  expect(busy).not.toHaveBeenCalled();
});

it('does many in order, so many in each turn, and says how long that takes', async () => {
  const { done, over, busy, give } = begun(3);
  give(0, 10);
  expect(done).toHaveLength(3);
  await turn();
  expect(done).toHaveLength(6);
  give(10, 11); // comes after those that wait
  expect(over).not.toHaveBeenCalled();
  await turn();
  await turn();
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(busy).toHaveBeenCalledTimes(1);
  expect(over).toHaveBeenCalledTimes(1);
});

it('takes pieces that pieces give, and goes on as long as it takes', async () => {
  const { done, over, busy, bite, give } = begun(2);
  bite(() => give(0, 5));
  for (let n = 0; n < 5; n++) await turn();
  give(5, 20);
  for (let n = 0; n < 10; n++) await turn();
  expect(done).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(over).toHaveBeenCalledTimes(busy.mock.calls.length);
});
