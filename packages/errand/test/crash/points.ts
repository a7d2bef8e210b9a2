import { setTimeout as pause } from 'node:timers/promises';
import { MOMENTS, type Moment, type Point } from './doom.ts';
import type { Write } from './ledger.ts';
import type { Cast } from './scenario.ts';
import { Trial, type TrialReport } from './trial.ts';

/** How long after its time a task is out of the file, in ms: sweeps come each second. */
const SWEPT_AFTER = 1200;

/** A write of an unkilled run. */
export interface Place extends Pick<Point, 'number' | 'sweep'> {
  readonly cast: Cast;
  readonly what: string;
}

export interface PointReport extends TrialReport {
  /** Whether the server came to the point. */
  readonly reached: boolean;
}

/** The kills at these places; `turn` says with which moment those begin that have one each. */
export function killsAt(places: readonly Place[], turn: number): readonly (readonly [Place, Moment])[] {
  return places.flatMap((place, index) =>
    place.cast.inTurn
      ? [[place, MOMENTS[(index + turn) % MOMENTS.length]!] as const]
      : MOMENTS.map((moment) => [place, moment] as const),
  );
}

/** Runs a cast without a kill, and gives the writes that it came to. */
export async function rehearse(program: string, cast: Cast): Promise<TrialReport & { readonly places: Place[] }> {
  const trial = new Trial(program, { watched: true });
  for (const scenario of cast.scenarios) trial.call(scenario);
  await trial.site.start().up;
  await ended(trial, cast);
  const report = await trial.close(false);
  const writes = report.ledger.filter((line): line is Write => line.type === 'write');
  return {
    ...report,
    places: writes
      .filter(({ sweep }) => !sweep || expires(cast))
      .map(({ number, sweep, what }) => ({ cast, number, sweep, what })),
  };
}

/** Runs a cast on a server that dies at a write, and on another one after that. */
export async function killAt(program: string, { cast, number, sweep }: Place, moment: Moment): Promise<PointReport> {
  const trial = new Trial(program, { watched: true });
  for (const scenario of cast.scenarios) trial.call(scenario);
  const first = trial.site.start({ number, sweep, moment });
  const reached = await Promise.race([first.over.then(() => true), ended(trial, cast).then(() => false)]);
  if (reached) {
    await trial.bury();
    await trial.site.start().up;
    await ended(trial, cast);
  }
  return { ...(await trial.close(reached)), reached };
}

/** Whether sweeps have something to remove; there they are killed at, the idle ones too. */
function expires(cast: Cast): boolean {
  return cast.scenarios.some(({ outlives }) => outlives);
}

async function ended(trial: Trial, cast: Cast): Promise<void> {
  await trial.ended();
  if (expires(cast)) await pause(SWEPT_AFTER);
}
