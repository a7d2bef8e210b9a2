import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { allRules, citations, PACKAGE } from './citations.ts';
import { HELD, REASONS } from './rules.ts';
import { withTable } from './table.ts';

const PAGE = path.join(PACKAGE, '../../docs/dialects.md');

describe('the rules of all revisions', () => {
  const cited = citations();

  test('are each held by a test, or there is a reason why they bind nothing here', () => {
    const loose = allRules().filter((rule) => !cited.has(rule) && !(rule in HELD) && !(rule in REASONS));
    expect(loose).toEqual([]);
  });

  test('are excused only where no test holds them', () => {
    const named = [...Object.keys(HELD), ...Object.keys(REASONS)];
    expect(named.filter((rule) => cited.has(rule) || !allRules().includes(rule))).toEqual([]);
    expect(Object.keys(HELD).filter((rule) => rule in REASONS)).toEqual([]);
  });

  test.each(Object.entries(HELD))('%s is held by a test that is there', (_, [file, title]) => {
    expect(existsSync(path.join(PACKAGE, file))).toBe(true);
    expect(readFileSync(path.join(PACKAGE, file), 'utf8')).toContain(title);
  });

  test('that tests name are there', () => {
    const unknown = [...cited.keys()].filter((rule) => !allRules().includes(rule));
    expect(unknown).toEqual([]);
  });

  test('are listed in docs/dialects.md as they are', async () => {
    const page = readFileSync(PAGE, 'utf8');
    const made = await withTable(page);
    if (process.env['ERRAND_MAKE_DOCS'] !== undefined) writeFileSync(PAGE, made);
    else expect(page, 'npm run docs makes the page anew').toBe(made);
  });
});
