import type { Waiting } from './client.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** How long a call may take while time passes, in ms of real time. */
const LONGEST_CALL_MS = 5000;

/** How long a call is waited for, in real time, before any time passes, and how often it is looked at, in ms. */
const GLANCE_MS = 50;
const LOOK_MS = 5;

/** Waits by turning a clock, from timer to timer. */
export function turning(clock: VirtualClock): Waiting {
  const settle = (): Promise<void> => clock.settle();
  const pass = (): Promise<boolean> => clock.advanceToNext();

  /** Turns the clock until a call is answered. Never resolves: the answer does. */
  async function turnFor(call: Promise<unknown>): Promise<never> {
    let answered = false;
    const done = (): void => void (answered = true);
    call.then(done, done);
    // Most calls are answered without the clock, and whoever has the answer goes on at once. A handler may also take
    // real time outside of a step, of which the clock does not hear.
    for (let glance = 0; glance < GLANCE_MS && !answered; glance += LOOK_MS) await realTime(LOOK_MS);
    if (!answered) await settle();
    for (const deadline = Date.now() + LONGEST_CALL_MS; !answered; await settle()) {
      if (Date.now() > deadline)
        throw new Error(`the call is not answered, however far time passes: to ${new Date(clock.now()).toISOString()}`);
      // No time brings an answer, but what takes real time still may.
      if (!(await pass())) await realTime(LOOK_MS);
    }
    return new Promise(() => undefined);
  }

  return {
    settle,
    pass,
    through: (call) => Promise.race([call, turnFor(call)]),
    excuse: () =>
      clock.overtook() === 0
        ? ''
        : '; the clock went on while an effect took longer, in real time, than it stands still: give it more by virtualClock({ patience })',
  };
}

function realTime(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
