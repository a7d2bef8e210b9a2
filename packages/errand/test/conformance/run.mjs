import '../../../../scripts/node-version.mjs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { fail, say } from '../../../../scripts/terminal.mjs';
import { startFixture } from './fixture.mjs';
import { REQUIRED, SCENARIO_RUNS } from './plan.mjs';
import { obtainSuite, requiredScenarios, runSuite } from './suite.mjs';
import { judgeRequirements, judgeRun } from './verdict.mjs';

const HELP = `Runs the public MCP conformance suite against the fixture server of this folder.

  npm run conformance                        everything: each scenario below on its own,
                                             then --requirements ${REQUIRED.join(' and ')}, in one run each
  npm run conformance -- --scenario NAME     one scenario
  npm run conformance -- --help              this text

Exits with 0 when every check is green. There is no baseline: a warning, a skipped check and a
scenario that tested nothing count as failures.

Scenarios:
${SCENARIO_RUNS.map(({ scenario }) => `  ${scenario}`).join('\n')}`;

const SEE_HELP = 'See npm run conformance -- --help';

const { scenario: only, help } = options();
if (help) {
  console.log(HELP);
  process.exit(0);
}
const runs = SCENARIO_RUNS.filter(({ scenario }) => only === undefined || scenario === only);
if (runs.length === 0) fail(`There is no scenario ${only} among those that are run.`, [SEE_HELP]);

obtainSuite();

const folder = mkdtempSync(path.join(tmpdir(), 'errand-conformance-'));
const children = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    cleanUp();
    process.exit(signal === 'SIGINT' ? 130 : 143);
  });
}
process.exitCode = await conform().finally(cleanUp);

function options() {
  try {
    return parseArgs({ options: { scenario: { type: 'string' }, help: { type: 'boolean', short: 'h' } } }).values;
  } catch (error) {
    return fail(error.message, [SEE_HELP]);
  }
}

/** Runs what was asked for. Resolves with the exit code. */
async function conform() {
  const { url, log } = await startFixture(path.join(folder, 'tasks.db'), started);
  const verdicts = [];
  for (const { scenario, args } of runs) {
    const run = await runSuite(['server', '--url', url, ...args], path.join(folder, scenario), started);
    verdicts.push(show(judgeRun(scenario, run)));
  }
  for (const revision of only === undefined ? REQUIRED : []) {
    say(`all that ${revision} requires, in one run`);
    const required = await requiredScenarios(revision, started);
    const run = await runSuite(
      ['server', '--url', url, '--requirements', revision],
      path.join(folder, `required-${revision}`),
      started,
    );
    verdicts.push(...judgeRequirements(required, run).map(show));
  }
  return summarize(verdicts, log());
}

function started(child) {
  children.add(child);
  child.once('close', () => children.delete(child));
}

/** Stops every process that is still there, and removes what they wrote. */
function cleanUp() {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

function show(verdict) {
  const { scenario, passed, wrong } = verdict;
  console.log(`${wrong.length === 0 ? '✓' : '✗'} ${scenario.padEnd(48)} ${String(passed).padStart(3)} green`);
  for (const reason of wrong) console.log(`    ${reason.replaceAll('\n', '\n    ')}`);
  return verdict;
}

function summarize(verdicts, log) {
  const red = verdicts.filter(({ wrong }) => wrong.length > 0);
  const checks = verdicts.reduce((sum, { passed }) => sum + passed, 0);
  if (red.length > 0 && log !== '')
    console.log(`\nThe last that the server said:\n${log.split('\n').slice(-20).join('\n')}`);
  console.log(`\n${verdicts.length - red.length} of ${verdicts.length} scenario runs green, ${checks} checks passed`);
  if (red.length > 0) console.log(`Not green: ${red.map(({ scenario }) => scenario).join(', ')}`);
  return red.length === 0 ? 0 : 1;
}
