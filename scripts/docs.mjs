// Makes what is generated under docs/: the table of rules, and the recorded runs.
import './node-version.mjs';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', 'packages/errand/test/rules', 'packages/errand/test/runs'],
  { cwd: root, stdio: 'inherit', env: { ...process.env, ERRAND_MAKE_DOCS: '1' } },
);
process.exit(status ?? 1);
