import './node-version.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { npm } from './npm.mjs';
import { fail, say } from './terminal.mjs';

/** The folder of the repository. */
export const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/**
 * Makes the checkout ready to run: packages, native module, build. Whatever is ready is left alone,
 * so that the second time takes about a second.
 */
export function setUp() {
  installPackages();
  checkNativeModule();
  build();
}

function installPackages() {
  if (isInstalled()) return;
  const first = !existsSync(path.join(ROOT, 'node_modules'));
  say(first ? 'installing packages (this once; a minute or two)' : 'packages have changed: installing what is missing');
  // `ci` would remove and compile everything again; both take the versions of the lockfile and leave it as it is.
  const command = first ? ['ci'] : ['install', '--no-save'];
  const options = ['--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  if (npm([...command, ...options], ROOT)) return;
  fail('Packages could not be installed; npm says why above.', [
    'Without a network, or behind a proxy, see `npm help config` for `proxy`, `registry` and `cafile`.',
  ]);
}

/** Whether what npm noted down after its last install is what the lockfile asks for. */
function isInstalled() {
  const noted = path.join(ROOT, 'node_modules/.package-lock.json');
  if (!existsSync(noted)) return false;
  const { packages: wanted } = readJson(path.join(ROOT, 'package-lock.json'));
  const { packages: installed } = readJson(noted);
  return Object.entries(wanted).every(([where, { version, link, optional }]) => {
    // Workspaces themselves are listed too, and packages for other platforms are left out.
    if (!where.includes('node_modules/')) return true;
    const found = installed[where];
    return found ? found.version === version && found.link === link : optional === true;
  });
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** SQLite is compiled code: it fits one version of Node on one platform. */
function checkNativeModule() {
  if (whatKeepsSqliteFromLoading() === undefined) return;
  say('the native module of better-sqlite3 does not fit this Node: rebuilding it (up to two minutes)');
  npm(['rebuild', 'better-sqlite3', '--ignore-scripts=false', '--loglevel=error'], ROOT);
  const reason = whatKeepsSqliteFromLoading();
  if (reason === undefined) return;
  fail(`The native module of better-sqlite3 does not load in Node ${process.versions.node}:`, [
    `  ${reason}`,
    'Where there is no prebuilt one, it is compiled, which needs Python 3 and a C++ compiler:',
    '  Debian, Ubuntu   sudo apt install python3 make g++',
    '  macOS            xcode-select --install',
    '  Windows          Visual Studio Build Tools with "Desktop development with C++"',
    'Then run the same command again. An even-numbered Node (20, 22, 24) usually needs no compiler.',
  ]);
}

/** `undefined` where it loads, else why not. In a process of its own, as what is loaded here cannot be replaced. */
function whatKeepsSqliteFromLoading() {
  const load = "new (require('better-sqlite3'))(':memory:').close()";
  const program = `try { ${load} } catch (error) { console.error(error.message); process.exit(1) }`;
  const cwd = path.join(ROOT, 'packages/errand');
  const { status, stderr } = spawnSync(process.execPath, ['-e', program], { cwd, encoding: 'utf8' });
  if (status === 0) return undefined;
  return stderr.trim().replaceAll('\n', ' ') || `loading it ended with ${status}`;
}

function build() {
  if (!existsSync(path.join(ROOT, 'packages/errand/dist/index.js'))) say('building');
  const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [tsc, '-b'], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (status !== 0) fail('The build failed; the compiler says why above.');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) setUp();
