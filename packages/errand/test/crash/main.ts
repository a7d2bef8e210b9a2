import '../../../../scripts/node-version.mjs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { bundleServer } from './bundle.ts';
import { FAULTS } from './faults.ts';
import { killAtRandom, randomFrom } from './moments.ts';
import { killAt, killsAt, rehearse, type Place } from './points.ts';
import { inParallel } from './pool.ts';
import { prove } from './prove.ts';
import { Report } from './report.ts';
import type { Cast } from './scenario.ts';
import { CASTS } from './scenarios.ts';
import { openSites } from './site.ts';

const HELP = `Kills a server with SIGKILL, starts it anew on the same file, and checks that nothing acknowledged is lost
and nothing is done twice.

  npm run test:crash                     at each commit point of each kind of work, then at 200 random moments
  npm run test:crash -- --points         at commit points only
  npm run test:crash -- --random N       at N random moments only
  npm run test:crash -- --only CAST      at the commit points of one kind of work
  npm run test:crash -- --seed S         decides what is left to chance (default: a new one, which is printed)
  npm run test:crash -- --jobs N         so many servers at once (default: two for each core)
  npm run test:crash -- --fault NAME     puts a fault into the server; this must go red
  npm run test:crash -- --prove          all faults, one after the other; exits with 0 where each goes red
  npm run test:crash -- --help           this text

Kinds of work: ${CASTS.map(({ name }) => name).join(', ')}

Faults:
${FAULTS.map(({ name, what }) => `  ${name.padEnd(14)}${what}`).join('\n')}`;

/** Kills in the life of one file. */
const KILLS_PER_FILE = 10;

const options = readOptions();
if (options.help) {
  console.log(HELP);
  process.exit(0);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const site of openSites) site.remove();
    process.exit(signal === 'SIGINT' ? 130 : 143);
  });
}
const jobs = count('jobs', 2 * availableParallelism());
const seed = count('seed', Math.floor(Math.random() * 2 ** 32));
const casts = CASTS.filter(({ name }) => options.only === undefined || name === options.only);
if (casts.length === 0) fail(`There is no kind of work called ${options.only}.`);
process.exitCode = options.prove ? await prove(jobs) : await crash();

function readOptions() {
  try {
    return parseArgs({
      options: {
        points: { type: 'boolean' },
        random: { type: 'string' },
        seed: { type: 'string' },
        only: { type: 'string' },
        jobs: { type: 'string' },
        fault: { type: 'string' },
        prove: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    return fail((error as Error).message);
  }
}

function count(name: 'random' | 'seed' | 'jobs', fallback: number): number {
  const text = options[name];
  if (text === undefined) return fallback;
  const number = Number(text);
  return Number.isSafeInteger(number) && number >= 1 ? number : fail(`--${name} is a whole number of 1 or more.`);
}

function fail(text: string): never {
  console.error(`${text}\nSee npm run test:crash -- --help`);
  process.exit(2);
}

/** Kills as the options say. Resolves with the exit code. */
async function crash(): Promise<number> {
  const fault = FAULTS.find(({ name }) => name === options.fault);
  if (options.fault !== undefined && fault === undefined) fail(`There is no fault called ${options.fault}.`);
  if (fault !== undefined) console.log(`With a fault: ${fault.what}`);
  const program = await bundleServer(fault);
  const report = new Report();
  const atPoints = options.points === true || options.random === undefined;
  const kills = options.points === true || options.only !== undefined ? count('random', 0) : count('random', 200);
  if (atPoints) await pointsOf(program, casts, report);
  if (kills > 0) await momentsOf(program, kills, report);
  return report.close(seed);
}

async function pointsOf(program: string, of: readonly Cast[], report: Report): Promise<void> {
  const places: Place[] = [];
  await inParallel(jobs, of, async (cast) => {
    const rehearsal = await rehearse(program, cast);
    report.add(rehearsal);
    places.push(...rehearsal.places);
  });
  const kills = killsAt(places, seed);
  console.log(`${places.length} commit points in ${of.length} kinds of work, ${kills.length} kills, seed ${seed}`);
  const left = new Map<Cast, number>();
  for (const [{ cast }] of kills) left.set(cast, (left.get(cast) ?? 0) + 1);
  await inParallel(jobs, kills, async ([place, moment]) => {
    const { cast } = place;
    const trial = await killAt(program, place, moment);
    report.add(trial);
    report.killedAt(place.what, moment, trial.reached);
    for (const { detail } of trial.tally.wrong.slice(0, 1)) {
      console.log(`✗ ${cast.name}, write ${place.number} (${place.what}), ${moment}: ${detail.slice(0, 200)}`);
    }
    left.set(cast, left.get(cast)! - 1);
    if (left.get(cast) === 0) console.log(`  ${cast.name} is through`);
  });
}

async function momentsOf(program: string, kills: number, report: Report): Promise<void> {
  console.log(`${kills} kills at random moments, seed ${seed}`);
  const rounds = Array.from({ length: Math.ceil(kills / KILLS_PER_FILE) }, (_, round) => round);
  let done = 0;
  await inParallel(jobs, rounds, async (round) => {
    const ofRound = Math.min(KILLS_PER_FILE, kills - round * KILLS_PER_FILE);
    const trial = await killAtRandom(program, ofRound, randomFrom(seed + round));
    report.add(trial);
    report.killedAtRandom(ofRound);
    done += ofRound;
    const mistakes = trial.tally.wrong.length;
    console.log(`${mistakes === 0 ? ' ' : '✗'} ${done} of ${kills}, ${trial.tasks} calls, ${mistakes} wrong`);
  });
}
