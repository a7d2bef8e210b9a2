import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { SERIES } from './rules.ts';

/** The package whose tests these are. */
export const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));

/** A test that names a rule. */
export interface Citation {
  /** Below the package. */
  readonly file: string;
  readonly title: string;
}

/** A title stands after the name of what it is a title of, or after what a test is made for each of. */
const TITLE = /(?:\b(?:it|test|describe)(?:\.\w+)*|\))\(\s*(['"`])((?:\\.|(?!\1)[\s\S])*)\1/g;
const RULE = /\b([A-Z])-(\d+)(?: to \1-(\d+))?/g;

/** The tests that name each rule, by its number. */
export function citations(): ReadonlyMap<string, readonly Citation[]> {
  const found = new Map<string, Citation[]>();
  for (const file of testFiles('src').concat(testFiles('test'))) {
    for (const [, , title = ''] of readFileSync(path.join(PACKAGE, file), 'utf8').matchAll(TITLE)) {
      for (const rule of rulesIn(title)) found.set(rule, [...(found.get(rule) ?? []), { file, title }]);
    }
  }
  return found;
}

/** All rules there are, in order. */
export function allRules(): string[] {
  return Object.entries(SERIES).flatMap(([series, [, count]]) =>
    Array.from({ length: count }, (_, at) => `${series}-${at + 1}`),
  );
}

function rulesIn(title: string): string[] {
  return [...title.matchAll(RULE)].flatMap(([, series, first, last = first]) => {
    const [from, to] = [Number(first), Number(last)];
    return series! in SERIES ? Array.from({ length: to - from + 1 }, (_, at) => `${series}-${from + at}`) : [];
  });
}

function testFiles(folder: string): string[] {
  return readdirSync(path.join(PACKAGE, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : testFiles(name);
    return /\.(test|suite)\.ts$/.test(entry.name) ? [name] : [];
  });
}
