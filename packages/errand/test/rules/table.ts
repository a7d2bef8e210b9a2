import path from 'node:path';
import { format } from 'prettier';
import { allRules, citations, type Citation } from './citations.ts';
import { HELD, REASONS, SERIES } from './rules.ts';

const BEGIN = '<!-- The rules, made from the titles of tests. `npm run docs` makes them anew. -->';

/** A page with its table of rules made anew: all that follows the mark. */
export async function withTable(page: string): Promise<string> {
  const at = page.indexOf(BEGIN);
  if (at < 0) throw new Error(`the page has no mark for the table: ${BEGIN}`);
  const text = `${page.slice(0, at)}${BEGIN}\n\n${tables()}`;
  return format(text, { parser: 'markdown', printWidth: 120, singleQuote: true });
}

function tables(): string {
  const cited = citations();
  return Object.entries(SERIES)
    .map(([series, [about]]) => {
      const rules = allRules().filter((rule) => rule.startsWith(`${series}-`));
      const rows = rules.map((rule) => `| ${rule} | ${held(rule, cited.get(rule) ?? [])} |`);
      return [`### ${series}: ${about}`, '', '| rule | held by |', '| --- | --- |', ...rows, ''].join('\n');
    })
    .join('\n');
}

/** One test is enough to find others by; best one that drives the wire. */
function held(rule: string, cited: readonly Citation[]): string {
  const elsewhere = HELD[rule];
  const onWire = cited.find(({ file }) => file.startsWith('test/dialects/'));
  const citation = onWire ?? cited[0] ?? (elsewhere && { file: elsewhere[0], title: elsewhere[1] });
  if (citation === undefined) return REASONS[rule] ?? 'nothing';
  const name = path.basename(citation.file).replace(/\.(test|suite)\.ts$/, '');
  return `${plain(citation.title)} ([${name}](../packages/errand/${citation.file}))`;
}

/** A title without the numbers at its end, as the text of a cell. */
function plain(title: string): string {
  return title
    .replace(/\s*\([^()]*\b[A-Z]-\d+[^()]*\)/g, '')
    .replaceAll('\\', '')
    .replaceAll('|', '\\|')
    .replace(/[<>*_`]/g, (char) => `\\${char}`);
}
