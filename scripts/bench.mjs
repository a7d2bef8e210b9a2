import { spawnSync } from 'node:child_process';
import { ROOT, setUp } from './setup.mjs';

setUp();
const [first, ...rest] = process.argv.slice(2);
const [program, options] = ['commit', 'parked', 'recovery', 'growth'].includes(first)
  ? [first, rest]
  : ['main', process.argv.slice(2)];
// A process of its own: the servers that it starts are run the way it is run itself.
const { status } = spawnSync(process.execPath, ['--import', 'tsx', `bench/${program}.ts`, ...options], {
  cwd: ROOT,
  stdio: 'inherit',
});
process.exit(status ?? 1);
