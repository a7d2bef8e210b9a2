import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

/** Longer than any of the tests take by themselves, also on a busy machine. */
const LIMIT_MS = 180_000;

/**
 * Runs test files in a copy of the sources until one test fails. Resolves with the name of that test, and with what
 * went wrong where no test came to run: such a run proves nothing.
 */
export async function runTests(folder, files, started, { bail = true } = {}) {
  const report = path.join(folder, 'report.json');
  rmSync(report, { force: true });
  const args = ['run', ...files, '--reporter=json', `--outputFile=${report}`, '--maxWorkers=1'];
  const child = spawn(
    process.execPath,
    [path.join(folder, 'node_modules/vitest/vitest.mjs'), ...args, ...(bail ? ['--bail=1'] : [])],
    {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, CI: '1', NO_COLOR: '1' },
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
    },
  );
  started(child);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk) => (said = (said + chunk).slice(-4000)));
  const [code, signal] = await once(child, 'close');
  if (signal !== null) return { broken: `vitest was ended by ${signal}` };
  return verdictOf(report, code, said);
}

function verdictOf(report, code, said) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, 'utf8')).testResults;
  } catch {
    return { broken: `vitest wrote no report (exit code ${code}): ${said}` };
  }
  const tests = results.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.find(({ status }) => status === 'failed');
  if (failed) return { failed: failed.fullName };
  const unloaded = results.find(({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0);
  if (unloaded) return { broken: `${unloaded.name} could not be loaded: ${unloaded.message}` };
  if (!tests.some(({ status }) => status === 'passed')) return { broken: `no test ran: ${said}` };
  return code === 0 ? {} : { broken: `no test failed, but vitest ended with ${code}: ${said}` };
}
