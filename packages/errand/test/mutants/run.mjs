import '../../../../scripts/node-version.mjs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { fail, say } from '../../../../scripts/terminal.mjs';
import { copySources, faulty, putIn } from './copy.mjs';
import { MUTANTS } from './mutants.mjs';
import { runTests } from './trial.mjs';

const HELP = `Puts faults into a copy of the sources, one at a time, and wants our tests to find each.

  npm run test:mutants                   all ${MUTANTS.length}
  npm run test:mutants -- --only ID      one; may be given several times
  npm run test:mutants -- --help         this text

The faults are those that the public conformance suite does not find: test/mutants/mutants.mjs.
Exits with 0 when every fault was found by a test that is green without it.

Faults:
${MUTANTS.map(({ id, gap }) => `  ${String(gap).padEnd(8)}${id}`).join('\n')}`;

/** As many as the machine of CI has cores. */
const WORKERS = 2;
const SEE_HELP = 'See npm run test:mutants -- --help';

const { only, help } = options();
if (help) {
  console.log(HELP);
  process.exit(0);
}
const unknown = only?.filter((id) => !MUTANTS.some((mutant) => mutant.id === id)) ?? [];
if (unknown.length > 0) fail(`There is no fault ${unknown.join(', ')}.`, [SEE_HELP]);
const mutants = MUTANTS.filter(({ id }) => only === undefined || only.includes(id));
const sources = new Map();
for (const mutant of mutants) {
  try {
    sources.set(mutant, faulty(mutant));
  } catch (error) {
    fail(error.message);
  }
}

const folder = mkdtempSync(path.join(tmpdir(), 'errand-mutants-'));
const children = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    cleanUp();
    process.exit(signal === 'SIGINT' ? 130 : 143);
  });
}
process.exitCode = await hunt().finally(cleanUp);

function options() {
  try {
    return parseArgs({
      options: { only: { type: 'string', multiple: true }, help: { type: 'boolean', short: 'h' } },
    }).values;
  } catch (error) {
    return fail(error.message, [SEE_HELP]);
  }
}

/** Tries every fault. Resolves with the exit code. */
async function hunt() {
  const began = Date.now();
  const copies = Array.from({ length: Math.min(WORKERS, mutants.length) }, (_, index) =>
    path.join(folder, `copy-${index}`),
  );
  copies.forEach(copySources);

  const files = [...new Set(mutants.flatMap(({ tests }) => tests))];
  say(`${files.length} test files without a fault`);
  const shares = copies.map((_, index) => files.filter((_, at) => at % copies.length === index));
  const sound = await Promise.all(
    shares.map((share, index) => (share.length === 0 ? {} : runTests(copies[index], share, started, { bail: false }))),
  );
  for (const { failed, broken } of sound) {
    if (failed ?? broken) fail(`The tests are red without a fault: ${failed ?? broken}`);
  }

  say(`${mutants.length} faults`);
  const queue = [...mutants];
  const found = [];
  await Promise.all(
    copies.map(async (copy) => {
      for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
        found.push(show(await tryOut(copy, mutant)));
      }
    }),
  );
  return summarize(found, (Date.now() - began) / 1000);
}

async function tryOut(copy, mutant) {
  const began = Date.now();
  const takeOut = putIn(copy, sources.get(mutant));
  try {
    return { ...mutant, ...(await runTests(copy, mutant.tests, started)), seconds: (Date.now() - began) / 1000 };
  } finally {
    takeOut();
  }
}

function started(child) {
  children.add(child);
  child.once('close', () => children.delete(child));
}

/** Stops every process that is still there, and removes the copies. */
function cleanUp() {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

function show(tried) {
  const { id, gap, failed, broken, seconds } = tried;
  const how = failed ?? (broken === undefined ? 'SURVIVED' : `NOT TRIED: ${broken}`);
  console.log(
    `${failed ? '✓' : '✗'} ${String(gap).padEnd(7)}${id.padEnd(40)}${seconds.toFixed(1).padStart(6)} s  ${how}`,
  );
  return tried;
}

function summarize(tried, seconds) {
  const left = tried.filter(({ failed }) => failed === undefined);
  console.log(`\n${tried.length - left.length} of ${tried.length} faults found, in ${Math.round(seconds)} s`);
  if (left.length > 0) console.log(`Not found: ${left.map(({ id }) => id).join(', ')}`);
  return left.length === 0 ? 0 : 1;
}
