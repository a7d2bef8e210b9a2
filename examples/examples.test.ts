import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

// What the examples share, and the client for the command line (demo/start.test.ts runs it).
const NO_EXAMPLES = ['call.ts', 'child.ts', 'client.ts', 'form.ts'];

const examples = readdirSync(import.meta.dirname).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !NO_EXAMPLES.includes(name),
);

test.each(examples)('%s ends by itself and confirms what it shows', { timeout: 60_000 }, async (name) => {
  // Rejects, with what the example wrote, unless it exits with 0.
  const { stdout } = await run(process.execPath, ['--import', 'tsx', path.join(import.meta.dirname, name)], {
    timeout: 55_000,
    killSignal: 'SIGKILL',
  });
  expect(stdout).not.toBe('');
});
