import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../store.ts';
import { memory } from '../stores/memory.ts';
import { sqlite } from '../stores/sqlite.ts';
import { executorSuite } from './executor.suite.ts';

executorSuite('the embedded executor in memory', () => {
  let store: Store | undefined;
  return { store: (clock) => (store ??= memory({ clock })), wipe: async () => undefined };
});

executorSuite('the embedded executor over a SQLite file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'errand-executor-'));
  return {
    store: (clock) => sqlite(join(folder, 'tasks.db'), { clock }),
    wipe: () => rm(folder, { recursive: true, force: true }),
  };
});
