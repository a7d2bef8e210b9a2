import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { memory } from '../../src/stores/memory.ts';
import { sqlite } from '../../src/stores/sqlite.ts';
import type { Death } from './mortal.ts';
import { nested, wide } from './plan.ts';
import { tell, type Telling } from './story.ts';
import { crowded, orderly } from './world.ts';

/*
 * Random graphs of random handlers, over servers that die at random moments and tasks that are paused in between.
 * `ERRAND_PROPERTY_SCALE=50 npm test -- test/property` tries fifty times as many. What fails is printed cut down, with
 * its seed and path: `ERRAND_PROPERTY_SEED=… ERRAND_PROPERTY_PATH=…` tells it again.
 */

const { ERRAND_PROPERTY_SCALE: scale = '1', ERRAND_PROPERTY_SEED: seed, ERRAND_PROPERTY_PATH: path } = process.env;

const death: fc.Arbitrary<Death> = fc.record({
  write: fc.integer({ min: 1, max: 12 }),
  moment: fc.oneof(fc.constantFrom('before' as const, 'after' as const), fc.integer({ min: 0, max: 6 })),
});
const deaths = fc.array(death, { maxLength: 5, size: 'max' });
const pauses = fc.array(fc.nat(12), { maxLength: 3 });

function stores(kind: 'memory' | 'sqlite'): Telling['openStore'] {
  if (kind === 'memory') return (clock) => memory({ clock });
  const folder = mkdtempSync(join(tmpdir(), 'errand-property-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  let files = 0;
  return (clock) => sqlite(join(folder, `${files++}.db`), { clock });
}

function runs(count: number): fc.Parameters<unknown> {
  return {
    numRuns: Math.ceil(count * Number(scale)),
    timeout: 120_000, // each takes a second or two where nobody else keeps the machine busy
    ...(seed !== undefined && { seed: Number(seed) }),
    ...(path !== undefined && { path }),
  };
}

const CASES = [
  { shape: 'nested handlers', plans: nested, kind: 'memory', count: 50 },
  { shape: 'nested handlers', plans: nested, kind: 'sqlite', count: 15 },
  { shape: 'up to 200 nodes', plans: wide, kind: 'memory', count: 4 },
  { shape: 'up to 200 nodes', plans: wide, kind: 'sqlite', count: 1 },
] as const;

describe.for(CASES)('of $shape in $kind', { timeout: 300_000 * Number(scale) }, ({ plans, kind, count }) => {
  it('a graph comes to what it comes to where no server dies', async () => {
    const openStore = stores(kind);
    await fc.assert(
      fc.asyncProperty(plans, deaths, pauses, async (plan, deaths, pauses) => {
        const undisturbed = await tell(plan, { world: orderly(), openStore, deaths: [] });
        expect(undisturbed.wrong).toEqual([]);
        const disturbed = await tell(plan, { world: orderly(), openStore, deaths, pauses });
        expect(disturbed.wrong).toEqual([]);
        expect(disturbed.ends).toEqual(undisturbed.ends);
      }),
      runs(count),
    );
  });

  it('a graph keeps each result, and the winner of each race, also where all come at once', async () => {
    const openStore = stores(kind);
    await fc.assert(
      fc.asyncProperty(plans, deaths, pauses, async (plan, deaths, pauses) => {
        const story = await tell(plan, { world: crowded(), openStore, deaths, pauses, decides: true });
        expect(story.wrong).toEqual([]);
      }),
      runs(count),
    );
  });
});
