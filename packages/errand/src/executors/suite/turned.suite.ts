import type { TestContext } from 'vitest';
import type { Store } from '../../store.ts';
import { testErrand, virtualClock, type Define, type TestErrand, type TestErrandOptions } from '../../testing.ts';
import type { VirtualClock } from '../../testing.ts';
import type { Disk } from './bed.suite.ts';

/** A server that can be killed, over a disk, by a clock that the test turns. */
export interface TurnedBed extends TestErrand {
  readonly clock: VirtualClock;
  /** What is on disk; out of reach between a crash and the restart. */
  readonly disk: Store;
}

/** Makes the bed of a test, which is cleared away at its end. */
export async function turnedBed(
  disk: Disk,
  define: Define,
  { onTestFinished }: TestContext,
  options: TestErrandOptions = {},
): Promise<TurnedBed> {
  const clock = virtualClock();
  const store = disk.store(clock.now);
  const t = await testErrand({ ...options, clock, store }, define);
  onTestFinished(async () => {
    await t.close();
    await disk.wipe();
  });
  return Object.defineProperties(Object.create(t) as TurnedBed, {
    clock: { value: clock },
    disk: { value: store },
  });
}

/** How a task reads that came to a text. */
export const cameTo = (text: string) => ({ status: 'completed', result: { content: [{ type: 'text', text }] } });
