import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';
import type { Fault } from './faults.ts';

const PACKAGE = path.resolve(import.meta.dirname, '../..');

/** The files that go with this process. */
const bundles = new Set<string>();

/**
 * Makes one file of the server and the sources of Errand, with a fault in them if one is given: a
 * server is started hundreds of times, and a loader would take most of the time. Resolves with the
 * file, which goes with this process.
 */
export async function bundleServer(fault?: Fault): Promise<string> {
  // Within the package, so that its dependencies are found from there.
  const name = ['server', process.pid, ...(fault ? [fault.name] : [])].join('-');
  const outfile = path.join(PACKAGE, 'node_modules/.cache/crash', `${name}.mjs`);
  if (bundles.size === 0) process.once('exit', () => bundles.forEach((bundle) => rmSync(bundle, { force: true })));
  bundles.add(outfile);
  await build({
    entryPoints: [path.join(import.meta.dirname, 'server.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
    plugins: fault ? [putIn(fault)] : [],
  });
  return outfile;
}

/** Changes sources on their way into the bundle. Fails where a fault does not fit them any more. */
function putIn({ name, edits }: Fault): Plugin {
  return {
    name: 'fault',
    setup({ onLoad, onEnd }) {
      const made = new Set<string>();
      onLoad({ filter: /\.ts$/ }, async ({ path: file }) => {
        const ours = edits.filter((edit) => file === path.join(PACKAGE, 'src', edit.file));
        if (ours.length === 0) return undefined;
        let contents = await readFile(file, 'utf8');
        for (const { find, put } of ours) {
          if (!contents.includes(find)) throw new Error(`fault ${name}: ${file} has no longer ${JSON.stringify(find)}`);
          contents = contents.replace(find, () => put);
          made.add(find);
        }
        return { contents, loader: 'ts' };
      });
      onEnd(() => {
        if (made.size < edits.length) throw new Error(`fault ${name}: not all of its files are in the server`);
      });
    },
  };
}
