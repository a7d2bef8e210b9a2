import { bundleServer } from './bundle.ts';
import { MOMENTS, type Moment } from './doom.ts';
import { FAULTS, type Fault } from './faults.ts';
import { killAt, rehearse, type Place } from './points.ts';
import { inParallel } from './pool.ts';
import { CASTS } from './scenarios.ts';
import { openSites } from './site.ts';
import { CHECKS, Tally } from './tally.ts';

/** Puts each fault into a server of its own, and kills that until something is wrong. Resolves with the exit code. */
export async function prove(jobs: number): Promise<number> {
  let noticed = 0;
  for (const fault of FAULTS) {
    const { kills, tally } = await tryFault(fault, jobs);
    const by = [...new Set(tally.wrong.map(({ check }) => check))];
    if (by.length > 0) noticed++;
    console.log(
      `${by.length > 0 ? '✓' : '✗ NOT NOTICED:'} ${fault.name}: ${fault.what} (${kills} kills of "${fault.cast}")`,
    );
    for (const check of by) console.log(`    not so: ${CHECKS[check]}`);
  }
  for (const site of openSites) site.remove();
  console.log(`\n${noticed} of ${FAULTS.length} faults were noticed`);
  return noticed === FAULTS.length ? 0 : 1;
}

async function tryFault(fault: Fault, jobs: number): Promise<{ readonly kills: number; readonly tally: Tally }> {
  const program = await bundleServer(fault);
  const tally = new Tally();
  const rehearsal = await rehearse(
    program,
    CASTS.find(({ name }) => name === fault.cast)!,
  );
  // What shows without a kill needs no crash suite.
  if (rehearsal.tally.wrong.length > 0)
    throw new Error(`fault ${fault.name} breaks Errand also where nothing is killed`);
  let kills = 0;
  const points = rehearsal.places.flatMap((place) => MOMENTS.map((moment): [Place, Moment] => [place, moment]));
  await inParallel(jobs, points, async ([place, moment]) => {
    if (tally.wrong.length > 0) return;
    kills++;
    tally.add((await killAt(program, place, moment)).tally);
  });
  return { kills, tally };
}
