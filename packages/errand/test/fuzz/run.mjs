import '../../../../scripts/node-version.mjs';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { fail } from '../../../../scripts/terminal.mjs';

const HELP = `Sends mutated frames to a server on SQLite, and judges each answer and what is left of the server.

  npm run test:fuzz                                  3,000 frames over HTTP, 1,000 lines over stdio
  npm run test:fuzz -- --frames N --lines N --seed S  more, fewer, or others
  npm run test:fuzz -- --help                        this text

Prints the seed and how often each status and code came. Exits with 0 when every answer was a valid one, the server
lived, served its other clients, and holds no more than before.`;

const SEE_HELP = 'See npm run test:fuzz -- --help';
const { frames, lines, seed, help } = options();
if (help) {
  console.log(HELP);
  process.exit(0);
}

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
const args = ['run', 'packages/errand/test/fuzz', '--disableConsoleIntercept', '--no-file-parallelism'];
const { status } = spawnSync(process.execPath, [vitest, ...args], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, ERRAND_FUZZ_FRAMES: frames, ERRAND_FUZZ_LINES: lines, ERRAND_FUZZ_SEED: seed },
});
process.exit(status ?? 1);

function options() {
  let values;
  try {
    ({ values } = parseArgs({
      options: {
        frames: { type: 'string', default: '3000' },
        lines: { type: 'string', default: '1000' },
        seed: { type: 'string', default: '20260728' },
        help: { type: 'boolean', short: 'h' },
      },
    }));
  } catch (error) {
    return fail(error.message, [SEE_HELP]);
  }
  for (const name of ['frames', 'lines', 'seed']) {
    if (!/^[1-9]\d{0,8}$/.test(values[name])) fail(`--${name} is a whole number of 1 or more.`, [SEE_HELP]);
  }
  return values;
}
