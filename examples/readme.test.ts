import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { startServer } from './child.ts';
import { connect, resultOf } from './client.ts';

const ROOT = path.join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
const firstTool = (readme: string) => /```ts\n([^]*?)```/.exec(readme)![1]!;

test('the first tool of the README works as it is written', { timeout: 30_000 }, async () => {
  // Inside of this folder, so that it finds the library as an example does; git ignores `data`.
  mkdirSync(path.join(import.meta.dirname, 'data'), { recursive: true });
  const folder = mkdtempSync(path.join(import.meta.dirname, 'data/readme-'));
  const file = path.join(folder, 'shop.ts');
  const store = JSON.stringify(path.join(folder, 'shop.db'));
  const ported = firstTool(read('README.md'))
    .replace("'data/shop.db'", store)
    .replace('await errand.serve({ port: 8080 });', 'process.send?.((await errand.serve({ port: 0 })).url);');
  writeFileSync(file, ported);

  const server = await startServer(pathToFileURL(file).href);
  const transport = new StreamableHTTPClientTransport(new URL(server.url));
  const { tasks, close } = await connect(transport, ({ message }) => {
    expect(message).toBe('lamp costs 40. How many?');
    return { action: 'accept', content: { count: 3 } };
  });
  const { content } = await resultOf(await tasks.callTool('order', { item: 'lamp' }));
  await close();
  await server.kill();
  rmSync(folder, { recursive: true, maxRetries: 5 });
  expect(content).toEqual([{ type: 'text', text: 'ordered 3 for 120' }]);
});

test('the test that the README shows passes as it is written', async () => {
  mkdirSync(path.join(import.meta.dirname, 'data'), { recursive: true });
  const folder = mkdtempSync(path.join(import.meta.dirname, 'data/readme-'));
  const file = path.join(folder, 'remind.ts');
  const shown = /```ts\n(import \{ testErrand[^]*?)```/.exec(read('README.md'))![1]!;
  writeFileSync(
    file,
    shown.replace(/^\(await t.*\['status'\];/m, (line) => `export const status = ${line}`),
  );
  const { status } = (await import(pathToFileURL(file).href)) as { status?: unknown };
  rmSync(folder, { recursive: true });
  expect(status).toBe('completed');
});

test('the README of the package shows the same first tool', () => {
  expect(firstTool(read('packages/errand/README.md'))).toBe(firstTool(read('README.md')));
});

test('every script and every file that the README names is there', () => {
  const readme = read('README.md');
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = [...readme.matchAll(/npm run (\w+)/g)].map(([, script]) => script!);
  expect(named.filter((script) => !(script in scripts))).toEqual([]);
  const links = [...readme.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link]) => link!);
  expect(links.filter((link) => !existsSync(path.join(ROOT, link)))).toEqual([]);
  expect([named.length > 3, links.length > 8]).toEqual([true, true]);
});
