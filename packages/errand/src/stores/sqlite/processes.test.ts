import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, expect, test } from 'vitest';
import { sqlite } from '../sqlite.ts';

const folder = mkdtempSync(join(tmpdir(), 'errand-processes-'));
const children = new Set<ChildProcess>();
afterEach(() => children.forEach((child) => child.kill('SIGKILL')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const urlOf = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
const TASKS = `
  import { sqlite } from ${urlOf('../sqlite.ts')};
  import { created, describe } from ${urlOf('../../task/transitions.ts')};
  const facts = { principal: 'local', tool: 't', toolVersion: '1', arguments: {}, seed: 's', capabilities: {},
    deadlineMs: 1e6, retentionMs: 1e6, pollIntervalMs: 1000 };
  const create = (store, entries = [], args = {}) => {
    const task = created({ ...facts, arguments: args, id: store.newId() }, store.now());
    return store.create(() => ({ task, entries }));
  };
  const entry = (seq) => ({ seq, type: 'begin', kind: 'step', name: 'n' + seq, ordinal: 1 });
`;

interface Circumstances {
  readonly uid?: number;
  /** The process can write no file beyond so many blocks. */
  readonly fileBlocks?: number;
}

/** Runs a module in a process of its own. */
function run(
  code: string,
  { uid, fileBlocks }: Circumstances = {},
): ChildProcess & { readonly stdout: NodeJS.ReadableStream } {
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const args = ['--import', loader, '--input-type=module', '-e', code];
  const limited = ['-c', `ulimit -f ${fileBlocks}; exec "$0" "$@"`, process.execPath, ...args];
  const child = spawn(
    ...(fileBlocks === undefined ? ([process.execPath, args] as const) : (['sh', limited] as const)),
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      ...(uid !== undefined && { uid }),
    },
  );
  children.add(child);
  return child;
}

test('after kill -9 every acknowledged task, change and journal entry is there', { timeout: 60_000 }, async () => {
  const file = join(folder, 'killed.db');
  const child = run(`${TASKS}
    const store = sqlite(${JSON.stringify(file)});
    await store.open();
    await Promise.all(Array.from({ length: 16 }, async () => {
      for (;;) {
        const { id } = await create(store, [entry(0)]);
        process.stdout.write(id + ' 1\\n');
        await store.change(id, (task) => ({ task: describe(task, 'on', store.now()), entries: [entry(1)] }));
        process.stdout.write(id + ' 2\\n');
      }
    }));
  `);
  const acknowledged = new Map<string, number>();
  const ended = once(child, 'exit');
  for await (const line of createInterface(child.stdout)) {
    const [id, version] = line.split(' ');
    if (version !== undefined) acknowledged.set(id!, Number(version));
    if (acknowledged.size === 1000) child.kill('SIGKILL');
  }
  await ended;
  expect(acknowledged.size).toBeGreaterThanOrEqual(1000);

  const store = sqlite(file);
  await store.open();
  for (const [id, version] of acknowledged) {
    const task = await store.read(id);
    expect(task?.version).toBeGreaterThanOrEqual(version);
    expect(await store.journal(id)).toHaveLength(task!.version);
  }
  await store.close();
});

test('processes that start on a new file at once share it, and its secret', { timeout: 60_000 }, async () => {
  const file = join(folder, 'deep', 'shared.db');
  const code = `${TASKS}
    const store = sqlite(${JSON.stringify(file)});
    await store.open();
    const ids = [];
    for (let made = 0; made < 50; made++) ids.push((await create(store)).id);
    console.log(JSON.stringify({ ids, secret: Buffer.from(await store.secret()).toString('hex') }));
    await store.close();
  `;
  const outputs = await Promise.all([1, 2, 3, 4].map(() => outputOf(run(code))));
  const results = outputs.map((output) => JSON.parse(output) as { ids: string[]; secret: string });
  expect(new Set(results.map(({ secret }) => secret)).size).toBe(1);
  const store = sqlite(file);
  await store.open();
  expect(await store.live('local')).toBe(200);
  for (const id of results.flatMap(({ ids }) => ids)) expect(await store.read(id)).toBeDefined();
  await store.close();
});

test.skipIf(process.platform === 'win32')(
  'a process that could never own the tasks does not wait for them, and says which file keeps it from that',
  { timeout: 60_000 },
  async () => {
    const shared = mkdtempSync(join(folder, 'shared-'));
    const file = join(shared, 'tasks.db');
    const store = sqlite(file);
    await store.open();
    await store.secret();
    store.own(() => undefined);
    chmodSync(folder, 0o755);
    chmodSync(shared, 0o777);
    for (const name of readdirSync(shared)) chmodSync(join(shared, name), name.endsWith('.owner') ? 0o444 : 0o666);
    const isRoot = process.geteuid!() === 0; // to whom nothing is forbidden
    const output = await outputOf(
      run(
        `${TASKS}
          const store = sqlite(${JSON.stringify(file)});
          await store.open();
          try {
            store.own(() => undefined);
          } catch (error) {
            console.log(error.message);
          }
          await store.close();
        `,
        isRoot ? { uid: 65_534 } : {},
      ),
    );
    expect(output).toMatch(/tasks\.db\.owner cannot be used: it cannot be written .*; let this user write the file/);
    await store.close();
  },
);

test.skipIf(process.platform === 'win32')(
  'a disk that takes no more takes nothing from readers, whatever its error',
  { timeout: 60_000 },
  async () => {
    const output = await outputOf(
      run(
        `${TASKS}
          process.on('SIGXFSZ', () => {});
          const store = sqlite(${JSON.stringify(join(folder, 'limited.db'))});
          await store.open();
          const { id } = await create(store);
          let failures = 0;
          while (failures < 3) await create(store, [], { big: 'x'.repeat(50_000) }).catch(() => failures++);
          console.log((await store.read(id)).id === id);
          await store.close().catch(() => undefined);
        `,
        { fileBlocks: 1000 },
      ),
    );
    expect(output.trim()).toBe('true');
  },
);

test('a store that nobody closed does not keep its process alive', { timeout: 60_000 }, async () => {
  const output = await outputOf(
    run(`${TASKS}
      const store = sqlite(${JSON.stringify(join(folder, 'open.db'))});
      await store.open();
      // Enough for a checkpoint, so that its thread runs.
      for (let made = 0; made < 10; made++) await create(store, [], { big: 'x'.repeat(1e6) });
      console.log('over');
    `),
  );
  expect(output.trim()).toBe('over');
});

test('who imports errand alone loads no native module', { timeout: 60_000 }, async () => {
  const count = `
    const { createRequire } = await import('node:module');
    console.log(Object.keys(createRequire(${urlOf('x.js')}).cache).some((path) => path.includes('better-sqlite3')));
  `;
  expect((await outputOf(run(`await import(${urlOf('../../index.ts')}); ${count}`))).trim()).toBe('false');
  expect((await outputOf(run(`await import(${urlOf('../sqlite.ts')}); ${count}`))).trim()).toBe('true');
});

async function outputOf(child: ReturnType<typeof run>): Promise<string> {
  const ended = once(child, 'exit');
  let output = '';
  for await (const chunk of child.stdout) output += String(chunk);
  expect((await ended)[0]).toBe(0);
  return output;
}
