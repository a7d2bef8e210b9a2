import { setTimeout as pause } from 'node:timers/promises';
import { SCENARIOS } from './scenarios.ts';
import { Trial, type TrialReport } from './trial.ts';

/** How many calls are made in each life, beside those that go on. */
const CALLS = 8;
/** No life lasts longer, in ms: enough for a run to be parked now and then. */
const LONGEST = 1500;
/** One kill of so many comes while the server starts. */
const WHILE_STARTING = 5;

/** Kills the server of one file so many times, each time after a random while, and starts it anew. */
export async function killAtRandom(program: string, kills: number, random: () => number): Promise<TrialReport> {
  const trial = new Trial(program, { watched: false });
  /** How long the last start took, in ms. */
  let start = 300;
  for (let kill = 1; kill <= kills; kill++) {
    for (let call = 0; call < CALLS; call++) {
      // Spread, so that there is always something to be killed in the middle of.
      trial.call(SCENARIOS[Math.floor(random() * SCENARIOS.length)]!, random() * LONGEST);
    }
    const began = performance.now();
    const life = trial.site.start();
    if (Math.floor(random() * WHILE_STARTING) === 0) {
      await pause(random() * start);
    } else {
      await life.up;
      start = performance.now() - began;
      await pause(random() * LONGEST);
    }
    await life.kill();
    await trial.bury();
  }
  await trial.site.start().up;
  await trial.ended();
  return trial.close(true);
}

/** Random numbers from 0 to 1 that a seed decides (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
