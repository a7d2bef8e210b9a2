import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { npm } from '../../../../scripts/npm.mjs';
import { fail, say } from '../../../../scripts/terminal.mjs';

const HERE = import.meta.dirname;
const SUITE = '@modelcontextprotocol/conformance';
// The suite runs only on Node 22 or newer, whatever Errand itself runs on.
const NODE = path.join(HERE, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node');
const PROGRAM = path.join(HERE, 'node_modules', SUITE, 'dist/index.js');

/** Makes the pinned suite and the Node it needs ready, and says so where that takes a while. */
export function obtainSuite() {
  const { devDependencies } = readJson('package.json');
  if (Object.entries(devDependencies).every(([name, version]) => installed(name) === version) && existsSync(NODE))
    return;
  say(`installing ${SUITE} ${devDependencies[SUITE]} and node ${devDependencies.node} for it (240 MB, this once)`);
  if (npm(['ci', '--prefix', HERE, '--no-audit', '--no-fund', '--loglevel=error'], HERE) && existsSync(NODE)) return;
  fail('The conformance suite could not be installed; npm says why above.', [
    'The `node` package fetches its binary in an install script, which npm must be allowed to run.',
  ]);
}

function readJson(file) {
  return JSON.parse(readFileSync(path.join(HERE, file), 'utf8'));
}

function installed(name) {
  const file = path.join('node_modules', name, 'package.json');
  return existsSync(path.join(HERE, file)) ? readJson(file).version : undefined;
}

/**
 * Runs the suite once. Resolves with its exit code, its text without colours, and the checks of every
 * scenario, read from the files that it wrote to `results`. `started` is given the process.
 */
export async function runSuite(args, results, started) {
  const child = spawn(NODE, [PROGRAM, ...args, ...(results ? ['-o', results] : [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started(child);
  let text = '';
  for (const output of [child.stdout, child.stderr]) output.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  // eslint-disable-next-line no-control-regex
  return { code, text: text.replaceAll(/\u001b\[[0-9;]*m/g, ''), scenarios: readChecks(results) };
}

/** The checks of each scenario that left a report: `server-NAME-TIME/checks.json`. */
function readChecks(results) {
  const reports = results && existsSync(results) ? readdirSync(results) : [];
  return new Map(
    reports.map((folder) => {
      const name = /^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/.exec(folder)?.[1] ?? folder;
      return [name, JSON.parse(readFileSync(path.join(results, folder, 'checks.json'), 'utf8'))];
    }),
  );
}

/** The server scenarios that a revision requires, as the suite lists them. */
export async function requiredScenarios(revision, started) {
  const { text } = await runSuite(['list', '--requirements', revision], undefined, started);
  const section = /Server scenarios[^\n]*\n((?: {2}- \S+\n)+)/.exec(text)?.[1] ?? '';
  return section.split('\n').flatMap((line) => line.match(/\S+$/)?.[0] ?? []);
}
