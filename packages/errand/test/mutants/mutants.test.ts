import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
// @ts-expect-error -- plain JavaScript, like the runner that uses it
import { faulty, ROOT } from './copy.mjs';
// @ts-expect-error -- plain JavaScript, like the runner that uses it
import { MUTANTS } from './mutants.mjs';

interface Mutant {
  readonly id: string;
  readonly gap: number | 'SHOULD';
  readonly tests: readonly string[];
  readonly edits: readonly { readonly find: string; readonly replace: string }[];
}

const mutants = MUTANTS as readonly Mutant[];

describe('the faults that our tests must find', () => {
  test('each have a name of their own', () => {
    expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length);
  });

  test('cover every gap of the public suite that concerns a server', () => {
    const gaps = new Set(mutants.map(({ gap }) => gap));
    expect([...gaps].sort()).toEqual([...Array.from({ length: 21 }, (_, at) => at + 1), 'SHOULD'].sort());
  });

  test.each(mutants.map((mutant) => [mutant.id, mutant] as const))('%s fits the sources as they are', (_, mutant) => {
    expect(() => faulty(mutant)).not.toThrow();
    for (const { find, replace } of mutant.edits) expect(replace).not.toBe(find);
    for (const file of mutant.tests) expect(existsSync(path.join(ROOT, file)), file).toBe(true);
  });
});
