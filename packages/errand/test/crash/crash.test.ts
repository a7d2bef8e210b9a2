import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleServer } from './bundle.ts';
import { MOMENTS } from './doom.ts';
import { FAULTS } from './faults.ts';
import { killAtRandom, randomFrom } from './moments.ts';
import { killAt, rehearse, type Place } from './points.ts';
import { inParallel } from './pool.ts';
import { CASTS } from './scenarios.ts';
import { openSites } from './site.ts';

// A slice of `npm run test:crash`, so that it cannot rot.

let program: string;
beforeAll(async () => {
  program = await bundleServer();
});
afterAll(() => openSites.forEach((site) => site.remove()));

test(
  'a server that is killed at its commit points loses nothing and repeats nothing',
  { timeout: 60_000 },
  async () => {
    const places: Place[] = [];
    for (const name of ['till', 'unwanted', 'generations', 'lunch']) {
      const rehearsal = await rehearse(
        program,
        CASTS.find((cast) => cast.name === name)!,
      );
      expect(rehearsal.tally.wrong).toEqual([]);
      places.push(...rehearsal.places);
    }
    expect(places.map(({ what }) => what)).toEqual(
      expect.arrayContaining([
        'a task with a journal',
        'a task with subtasks',
        'a pause',
        'the end of a call',
        'the begin of a call (step)',
        'the end as completed',
        'the end as cancelled',
      ]),
    );
    let killed = 0;
    // Each point at one of the moments, so that all of them have their turn.
    const some = places.filter(({ cast }, index) => !cast.inTurn || index % 8 === 0);
    await inParallel(2, [...some.entries()], async ([index, place]) => {
      const { tally, reached } = await killAt(program, place, MOMENTS[index % MOMENTS.length]!);
      expect(tally.wrong).toEqual([]);
      if (reached) killed++;
    });
    expect(killed).toBeGreaterThanOrEqual(8);
  },
);

test('a server that is killed at random moments loses nothing and repeats nothing', { timeout: 60_000 }, async () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const { tally } = await killAtRandom(program, 5, randomFrom(seed));
  expect(tally.wrong, `seed ${seed}`).toEqual([]);
  expect(tally.looked.get('tasks')).toBeGreaterThan(20);
});

test('each fault that shows that the suite can fail still fits the sources', { timeout: 60_000 }, async () => {
  for (const fault of FAULTS) {
    await expect(bundleServer(fault)).resolves.toContain(fault.name);
    expect(CASTS.map(({ name }) => name)).toContain(fault.cast);
  }
});
