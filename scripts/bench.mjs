import { spawnSync } from 'node:child_process';
import { ROOT, setUp } from './setup.mjs';

setUp();
// A process of its own: the servers that it starts are run the way it is run itself.
const { status } = spawnSync(process.execPath, ['--import', 'tsx', 'bench/main.ts'], { cwd: ROOT, stdio: 'inherit' });
process.exit(status ?? 1);
