import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { ROOT, setUp } from './setup.mjs';

setUp();
// Arguments are vitest's: `npm test -- examples`, `npm test -- -t "acknowledged answer"`.
const vitest = path.join(ROOT, 'node_modules/vitest/vitest.mjs');
const { status } = spawnSync(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
  cwd: ROOT,
  stdio: 'inherit',
});
process.exit(status ?? 1);
