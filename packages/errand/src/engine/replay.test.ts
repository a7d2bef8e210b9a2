import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../task/journal.ts';
import { Bench, chance, turns, type Context, type Handler } from './bench.suite.ts';

/** A handler as data, so that fast-check can make it up and cut it down. */
type Plan =
  | { readonly kind: 'step'; readonly name: string; readonly fails: boolean }
  | { readonly kind: 'now' | 'uuid' }
  | { readonly kind: 'hop'; readonly hops: number }
  | { readonly kind: 'sequence' | 'all' | 'settled' | 'race' | 'any'; readonly parts: readonly Plan[] }
  /** Which way it goes is up to what came before. */
  | { readonly kind: 'winner' | 'value'; readonly parts: readonly Plan[]; readonly then: readonly Plan[] };

const { plan } = fc.letrec<{ plan: Plan }>((tie) => {
  const parts = fc.array(tie('plan'), { minLength: 1, maxLength: 4 });
  const both = fc.tuple(tie('plan'), tie('plan'));
  return {
    plan: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constant('step' as const),
          name: fc.constantFrom('a', 'b', 'c', 'd'),
          fails: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
        }),
      },
      fc.record({ kind: fc.constantFrom('now' as const, 'uuid' as const) }),
      fc.record({ kind: fc.constant('hop' as const), hops: fc.integer({ min: 1, max: 12 }) }),
      {
        weight: 5,
        arbitrary: fc.record({
          kind: fc.constantFrom(
            'sequence' as const,
            'all' as const,
            'settled' as const,
            'race' as const,
            'any' as const,
          ),
          parts,
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constantFrom('winner' as const, 'value' as const), parts: both, then: both }),
      },
    ),
  };
});

function handlerOf(plan: Plan): Handler {
  switch (plan.kind) {
    case 'step':
      return (task) => task.step(plan.name, plan.fails);
    case 'now':
      return async (task) => task.now();
    case 'uuid':
      return async (task) => task.uuid();
    case 'hop':
      return () => hop(plan.hops);
    case 'sequence':
      return async (task) => {
        const values = [];
        for (const part of plan.parts) values.push(await handlerOf(part)(task).catch((error: Error) => error.message));
        return values;
      };
    case 'all':
      return (task) => Promise.all(begun(plan, task));
    case 'settled':
      return async (task) => {
        const settled = await Promise.allSettled(begun(plan, task));
        return settled.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)));
      };
    case 'race':
      return (task) => Promise.race(begun(plan, task));
    case 'any':
      return (task) => Promise.any(begun(plan, task));
    case 'winner':
      return async (task) => {
        const ways = begun(plan, task).map((one, way) =>
          one.then(
            () => way,
            () => 1 - way,
          ),
        );
        const way = await Promise.race(ways);
        return [way, await handlerOf(plan.then[way]!)(task)];
      };
    case 'value':
      return async (task) => {
        const [value] = await Promise.all(begun(plan, task));
        const way = Number(/\d+/.exec(JSON.stringify(value) ?? '')?.[0] ?? 0) % 2;
        return [way, await handlerOf(plan.then[way]!)(task)];
      };
  }
}

function begun({ parts }: { readonly parts: readonly Plan[] }, task: Context): Promise<unknown>[] {
  return parts.map((part) => handlerOf(part)(task));
}

/** Goes on a little later, in the same turn of the loop. */
async function hop(hops: number): Promise<null> {
  for (let i = 0; i < hops; i++) {
    await (i % 3 === 2 ? new Promise<void>((resolve) => queueMicrotask(resolve)) : Promise.resolve());
  }
  return null;
}

/** How ends were told to the handler: which begin each belongs to, and with what. */
function ends(disk: readonly JournalEntry[]): string[] {
  return disk.flatMap((entry) => (entry.type === 'end' ? [JSON.stringify([entry.begin, entry.outcome])] : []));
}

/** Where no end was recorded at all, a replay has nothing to tell, and starts what nobody waited for anew. */
function expectNothingNew(first: Bench, again: Bench): void {
  if (ends(first.disk).length === 0) return;
  expect(again.effects).toEqual([]);
  expect(again.disk).toEqual(first.disk);
}

describe('whatever a handler begins and waits for', () => {
  const seeds = fc.tuple(fc.nat(), fc.nat(), fc.nat());

  it('a replay of all that was recorded gives the same result, and has no effect', async () => {
    await fc.assert(
      fc.asyncProperty(plan, seeds, fc.boolean(), async (plan, [one, two], crowded) => {
        const handler = handlerOf(plan);
        const first = new Bench([], { seed: one, crowded });
        const result = await first.run(handler);
        const again = new Bench(first.disk, { seed: two, crowded: !crowded });
        expect(await again.run(handler)).toBe(result);
        expectNothingNew(first, again);
      }),
      { numRuns: 300 },
    );
  });

  it('a run that is cut off at any entry goes on from there, and its replay gives what it gave', async () => {
    await fc.assert(
      fc.asyncProperty(plan, seeds, fc.boolean(), async (plan, [one, two, three], crowded) => {
        const handler = handlerOf(plan);
        const whole = new Bench([], { seed: one, crowded });
        await whole.run(handler);
        for (let cut = 0; cut < whole.disk.length; cut++) {
          const left = whole.disk.slice(0, cut);
          const resumed = new Bench(left, { seed: two + cut, crowded });
          const result = await resumed.run(handler);
          // What was recorded stays, in its order, and nothing of it is done twice.
          expect(resumed.disk.slice(0, cut)).toEqual(left);
          const done = ends(left).length;
          const begun = resumed.disk.filter((entry) => entry.type === 'begin' && entry.kind === 'step').length;
          expect(resumed.effects.length).toBeLessThanOrEqual(begun - done);
          const again = new Bench(resumed.disk, { seed: three + cut });
          expect(await again.run(handler)).toBe(result);
          expectNothingNew(resumed, again);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('a run that is cut off again and again comes to an end all the same', async () => {
    await fc.assert(
      fc.asyncProperty(plan, fc.nat(), async (plan, seed) => {
        const handler = handlerOf(plan);
        let disk: JournalEntry[] = [];
        let result: string | undefined;
        for (let round = 0; result === undefined; round++) {
          const bench = new Bench(disk, { seed: seed + round });
          const run = bench.run(handler);
          const crash = turns(1 + round).then(() => undefined);
          result = await Promise.race([run, crash]);
          // After the crash nothing more reaches the disk.
          disk = [...bench.disk];
          if (result === undefined) bench.journal.close();
        }
        expect(await new Bench(disk, { seed }).run(handler)).toBe(result);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a handler that also waits for what is not ours, one thing after the other', () => {
  it('goes on from any entry, however long that takes in each run', async () => {
    for (let seed = 1; seed <= 8; seed++) {
      const handlerAt =
        (next: () => number): Handler =>
        async (task) => {
          const aside = task.step('aside');
          const seen: unknown[] = [];
          for (const name of ['a', 'b', 'c']) {
            seen.push(await task.step(name));
            await turns(Math.floor(next() * 8)); // a file, a timer
            seen.push(task.now());
          }
          return [seen, await aside];
        };
      const whole = new Bench([], { seed });
      await whole.run(handlerAt(chance(seed)));
      for (let cut = 0; cut <= whole.disk.length; cut++) {
        const resumed = new Bench(whole.disk.slice(0, cut), { seed: seed + cut });
        const result = await resumed.run(handlerAt(chance(-cut)));
        const again = new Bench(resumed.disk);
        expect(await again.run(handlerAt(chance(cut)))).toBe(result);
        expectNothingNew(resumed, again);
      }
    }
  });
});
