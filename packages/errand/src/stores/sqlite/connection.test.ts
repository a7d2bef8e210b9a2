import { afterEach, beforeEach, expect, test } from 'vitest';
import { Connection } from './connection.ts';

let connection: Connection;
let failures: unknown[];
beforeEach(() => {
  connection = new Connection(':memory:', () => undefined);
  failures = [];
});
afterEach(() => connection.close());

const rows = () => connection.db.prepare('SELECT name FROM meta ORDER BY name').pluck().all();

function insert(name: string, value: string | null = 'x') {
  return {
    run: () => void connection.db.prepare('INSERT INTO meta VALUES (?, ?)').run(name, value),
    fail: (thrown: unknown) => void failures.push(thrown),
  };
}

test('a command that fails is undone alone, and told why', () => {
  const before = rows();
  connection.commit([insert('a'), insert('b', null), insert('c')]);
  expect(rows()).toEqual([...before, 'a', 'c'].toSorted());
  expect(failures).toMatchObject([{ code: 'SQLITE_CONSTRAINT_NOTNULL' }]);
});

test('a commit that fails leaves nothing, and the connection serves on', () => {
  const before = rows();
  connection.db.exec(`
    CREATE TABLE fault (name REFERENCES meta DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER fault AFTER INSERT ON meta WHEN new.name = 'bad' BEGIN INSERT INTO fault VALUES ('none'); END;
  `);
  expect(() => connection.commit([insert('a'), insert('bad')])).toThrow('FOREIGN KEY');
  expect(rows()).toEqual(before);
  connection.commit([insert('a')]);
  expect(rows()).toEqual(['a', ...before]);
});
