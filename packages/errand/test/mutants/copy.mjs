import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

/** What the tests of the library need of the repository. */
const NEEDED = [
  'package.json',
  'tsconfig.base.json',
  'vitest.config.ts',
  'scripts',
  'packages/errand/package.json',
  'packages/errand/tsconfig.json',
  'packages/errand/src',
  'packages/errand/test',
];

/** Copies the sources into a folder; what is installed is shared. */
export function copySources(folder) {
  for (const name of NEEDED) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    cpSync(path.join(ROOT, name), path.join(folder, name), {
      recursive: true,
      filter: (file) => path.basename(file) !== 'node_modules',
    });
  }
  for (const name of ['node_modules', 'packages/errand/node_modules']) {
    const installed = path.join(ROOT, name);
    if (existsSync(installed)) symlinkSync(installed, path.join(folder, name));
  }
}

/** The sources with a fault, by file. Throws where a text to find is not there exactly once. */
export function faulty({ id, edits }, folder = ROOT) {
  const files = new Map();
  for (const { file, find, replace } of edits) {
    const text = files.get(file) ?? readFileSync(path.join(folder, file), 'utf8');
    const parts = text.split(find);
    if (parts.length !== 2) {
      throw new Error(`${id}: ${file} has this ${parts.length - 1} times instead of once, so the fault needs a new place:
${find}`);
    }
    files.set(file, parts.join(replace));
  }
  return files;
}

/** Writes files into a copy. Returns how to put back what was there. */
export function putIn(folder, files) {
  const before = [...files.keys()].map((file) => [file, readFileSync(path.join(folder, file), 'utf8')]);
  for (const [file, text] of files) writeFileSync(path.join(folder, file), text);
  return () => {
    for (const [file, text] of before) writeFileSync(path.join(folder, file), text);
  };
}
