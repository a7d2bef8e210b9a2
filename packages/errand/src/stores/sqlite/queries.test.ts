import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { countHere } from './census.ts';
import { eventTable } from './events.ts';
import { Ids } from './ids.ts';
import { journalTable } from './journal.ts';
import { migrate } from './migrations.ts';
import { taskQueries } from './queries.ts';
import { taskTable } from './tasks.ts';

/** A database that notes what is prepared, and how it goes about a statement. */
function noted() {
  const db = new Database(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  const statements: string[] = [];
  const noting = new Proxy(db, {
    get(_, name) {
      if (name !== 'prepare') return Reflect.get(db, name) as unknown;
      return (sql: string) => (statements.push(sql), db.prepare(sql));
    },
  });
  const planOf = (sql: string): string[] => {
    const nothing = Array.from(sql.matchAll(/\?/g), () => null);
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...nothing);
    return (plan as { detail: string }[]).map(({ detail }) => detail);
  };
  return { db, noting, statements, planOf };
}

test('no statement walks over all tasks', () => {
  const { db, noting, statements, planOf } = noted();
  for (const prepare of [taskQueries, journalTable, eventTable]) prepare(noting);
  taskTable(noting, new Ids(db));
  expect(statements.length).toBeGreaterThan(20);
  for (const sql of statements) {
    const details = planOf(sql);
    // What walks over an index that holds but the tasks in question is no walk over all of them.
    const walks = details.filter((detail) =>
      /^SCAN (task|call|journal|event)\b(?! USING (COVERING )?INDEX task_held)/.test(detail),
    );
    expect(walks, sql).toEqual([]);
    if (sql.includes('count(*)')) expect(details).toEqual([expect.stringContaining('COVERING')]);
  }
});

test('live tasks are counted by indexes alone', () => {
  const { noting, statements, planOf } = noted();
  expect(countHere(noting)).toEqual({ working: 0, input_required: 0 });
  const looks = planOf(statements[0]!).filter((detail) => detail.includes('task'));
  expect(looks).toHaveLength(2);
  for (const look of looks) expect(look).toContain('COVERING');
});
