import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { eventTable } from './events.ts';
import { Ids } from './ids.ts';
import { journalTable } from './journal.ts';
import { migrate } from './migrations.ts';
import { taskQueries } from './queries.ts';
import { taskTable } from './tasks.ts';

test('no statement walks over all tasks', () => {
  const db = new Database(':memory:');
  migrate(db);
  const statements: string[] = [];
  const noting = new Proxy(db, {
    get(_, name) {
      if (name !== 'prepare') return Reflect.get(db, name) as unknown;
      return (sql: string) => (statements.push(sql), db.prepare(sql));
    },
  });
  for (const prepare of [taskQueries, journalTable, eventTable]) prepare(noting);
  taskTable(noting, new Ids(db));
  expect(statements.length).toBeGreaterThan(20);
  for (const sql of statements) {
    const nothing = Array.from(sql.matchAll(/\?/g), () => null);
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...nothing);
    const details = (plan as { detail: string }[]).map(({ detail }) => detail);
    // What walks over an index that holds but the tasks in question is no walk over all of them.
    const walks = details.filter((detail) =>
      /^SCAN (task|call|journal|event)\b(?! USING (COVERING )?INDEX task_held)/.test(detail),
    );
    expect(walks, sql).toEqual([]);
    if (sql.includes('count(*)')) expect(details).toEqual([expect.stringContaining('COVERING')]);
  }
  db.close();
});
