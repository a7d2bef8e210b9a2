import { inFolder } from './folder.ts';
import { load } from './load.ts';
import type { Round } from './load.ts';
import { machine, pinLoad } from './machine.ts';
import { measured } from './measured.ts';
import { options } from './options.ts';
import { textOf } from './report.ts';
import type { Report } from './report.ts';
import { start } from './serving.ts';
import type { Serving } from './serving.ts';
import { SUBJECTS } from './subjects.ts';
import { targets } from './targets.ts';

const CONNECTIONS = 32;
/** How long each subject runs before it counts, so that its code is compiled. */
const WARM_UP_SECONDS = 1;

async function run(folder: string): Promise<Report> {
  const facts = machine();
  const cores = pinLoad();
  const subjects = SUBJECTS.filter(({ key }) => only.has(key));
  const servings = new Map<string, Serving>();
  try {
    for (const server of new Set(subjects.map((subject) => subject.server))) {
      servings.set(server, await start(server, { core: cores?.servers, args: [folder] }));
    }
    const all = subjects.map((subject) => ({ subject, serving: servings.get(subject.server)!, rounds: [] as Round[] }));
    for (const { subject, serving } of all) {
      await load(subject, serving, { connections: CONNECTIONS, seconds: WARM_UP_SECONDS });
    }
    for (let round = 0; round < rounds; round++) {
      for (const one of all)
        one.rounds.push(await load(one.subject, one.serving, { connections: CONNECTIONS, seconds }));
    }
    const results = all.map((one) => measured(one.subject, one.rounds));
    return {
      machine: facts,
      cores,
      connections: CONNECTIONS,
      options: { rounds, seconds },
      measured: results,
      targets: targets(new Map(results.map((one) => [one.subject.key, one]))),
    };
  } finally {
    for (const serving of servings.values()) serving.stop();
  }
}

const { rounds, seconds, only, json } = options();
const report = await inFolder(run);
console.log(json ? JSON.stringify(report, undefined, 2) : textOf(report));
