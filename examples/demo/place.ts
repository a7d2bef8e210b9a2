import { realpath } from 'node:fs/promises';
import path from 'node:path';

/** Where the tools may read and write. */
export interface Place {
  /** Tools read files below this folder only. */
  readonly root: string;
  /** Tools write below this folder only. */
  readonly data: string;
}

/** The caller asked for what it cannot have; asking again will not help. */
export class Refused extends Error {}

/**
 * The absolute path of a file or folder below the root. Throws `Refused` where it is
 * missing or lies elsewhere; links are followed before that is judged.
 */
export async function locate({ root }: Place, wanted: string): Promise<string> {
  const base = await realpath(root);
  const found = await realpath(path.resolve(base, wanted)).catch(() => {
    throw new Refused(`There is no ${wanted} in ${base}.`);
  });
  const way = path.relative(base, found);
  if (way === '..' || way.startsWith(`..${path.sep}`) || path.isAbsolute(way)) {
    throw new Refused(`${wanted} lies outside of ${base}. To allow another folder: npm start -- --root <folder>`);
  }
  return found;
}
