import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

/**
 * Where npm's own program is. Run by `node`, it needs no shell, which `npm.cmd` on Windows would.
 * `npm_execpath` names it under `npm start`, but other package managers set that too.
 */
function npmProgram() {
  const beside = path.dirname(process.execPath);
  const candidates = [
    process.env.npm_execpath,
    path.join(beside, 'node_modules/npm/bin/npm-cli.js'),
    path.join(beside, '../lib/node_modules/npm/bin/npm-cli.js'),
  ];
  return candidates.find((file) => file !== undefined && path.basename(file) === 'npm-cli.js' && existsSync(file));
}

/** Runs npm in `cwd` with its output shown. Returns whether it succeeded. */
export function npm(args, cwd) {
  const program = npmProgram();
  const { status } = program
    ? spawnSync(process.execPath, [program, ...args], { cwd, stdio: ['ignore', 2, 2] })
    : spawnSync('npm', args, { cwd, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  return status === 0;
}
