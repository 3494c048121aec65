/** Every form of statement that names tables is tried with each table of the engine in each place of a table. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it } from 'vitest';
import { openInstance } from '../../src/index.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { ApplicationSchema } from '../../src/storage/application-sql/application-schema.ts';
import { ApplicationSqlExecutor } from '../../src/storage/application-sql/application-sql-executor.ts';
import { refusalReason } from '../../src/storage/application-sql/sql-program.ts';
import { engineSchemaNames } from '../../src/storage/instance-file/instance-file.ts';
import type { SqliteFile } from '../../src/storage/sqlite/open-sqlite.ts';

/** `$` stands for a table. One place gets a table of the engine, and the others one of the application. */
const forms = [
  'SELECT * FROM $',
  'SELECT * FROM main.$ AS other',
  'SELECT count(*) FROM $',
  'SELECT 1 FROM $, $',
  'SELECT 1 FROM $ NATURAL JOIN $',
  'SELECT 1 FROM $ FULL JOIN $ ON 1',
  'SELECT 1 FROM ($ CROSS JOIN ($))',
  'SELECT * FROM (SELECT * FROM (SELECT * FROM $))',
  'SELECT 1 UNION SELECT 1 FROM $ EXCEPT SELECT 1 FROM $ INTERSECT SELECT 1 FROM $',
  'SELECT (SELECT count(*) FROM $) + (SELECT count(*) FROM $)',
  'SELECT 1 WHERE EXISTS (SELECT 1 FROM $) OR NOT EXISTS (SELECT 1 FROM $)',
  'SELECT 1 WHERE 1 IN (SELECT 1 FROM $)',
  'SELECT CASE WHEN (SELECT 1 FROM $) THEN 1 ELSE (SELECT 1 FROM $) END',
  'SELECT max((SELECT 1 FROM $)) OVER (ORDER BY (SELECT 1 FROM $)) FROM $',
  'SELECT 1 FROM $ GROUP BY (SELECT 1 FROM $) HAVING (SELECT 1 FROM $)',
  'SELECT 1 FROM $ ORDER BY (SELECT 1 FROM $) LIMIT (SELECT count(*) FROM $) OFFSET (SELECT count(*) FROM $)',
  'WITH a AS (SELECT 1 FROM $), b AS MATERIALIZED (SELECT 1 FROM $) SELECT * FROM a, b',
  'VALUES ((SELECT 1 FROM $)), ((SELECT 2 FROM $))',
  'INSERT INTO own (a) SELECT 1 FROM $',
  'INSERT INTO own (a) VALUES ((SELECT 1 FROM $)) RETURNING (SELECT 1 FROM $)',
  'INSERT INTO own (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = (SELECT 1 FROM $) WHERE (SELECT 1 FROM $)',
  'REPLACE INTO own (a) SELECT 1 FROM $',
  'UPDATE own SET b = (SELECT 1 FROM $) WHERE a IN (SELECT 1 FROM $)',
  'UPDATE own SET b = 1 FROM $ AS other, $ AS more',
  'UPDATE own SET b = 1 RETURNING (SELECT 1 FROM $)',
  'DELETE FROM own WHERE EXISTS (SELECT 1 FROM $)',
  'DELETE FROM own ORDER BY (SELECT 1 FROM $) LIMIT (SELECT count(*) FROM $)',
  'WITH a AS (SELECT 1 FROM $) DELETE FROM own WHERE a IN a',
  'INSERT INTO $ DEFAULT VALUES',
  'DELETE FROM $',
  'DELETE FROM $ WHERE 1',
  'DELETE FROM main.$ NOT INDEXED WHERE 0',
  'CREATE TABLE made AS SELECT 1 AS a FROM $',
  'CREATE VIEW made AS SELECT 1 AS a FROM $ WHERE EXISTS (SELECT 1 FROM $)',
  'CREATE TABLE made (a REFERENCES $)',
  'CREATE TABLE made (a, b, FOREIGN KEY (a, b) REFERENCES $ (a, b) ON UPDATE SET NULL)',
  'ALTER TABLE own ADD COLUMN c REFERENCES $',
  'DROP TABLE $',
  'DROP TABLE IF EXISTS main.$',
  'ALTER TABLE $ RENAME TO made',
  'ALTER TABLE $ ADD COLUMN made',
  'CREATE INDEX made ON $ (a)',
];

/** Ways to write a name that SQLite accepts. */
const quotes = [
  (name: string) => name,
  (name: string) => `"${name.toUpperCase()}"`,
  (name: string) => `[${name}]`,
];

let file: SqliteFile;
let sql: ApplicationSqlExecutor;
let engineTables: string[];

beforeAll(async () => {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
  const instance = await openInstance({ dir });
  await instance.createQueue({ name: 'q' });
  const session = instance.openSession();
  session.enqueue('q', { payload: 'a' });
  await session.commit();
  await instance.close();
  const stored = new Database(join(dir, 'instance-1.db'));
  stored.pragma('journal_mode = DELETE');
  file = new Database(stored.serialize());
  stored.close();
  rmSync(dir, { recursive: true });
  engineTables = file
    .prepare("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")
    .pluck()
    .all() as string[];
  engineTables = engineTables.filter((name) => !name.startsWith('sqlite_'));
  sql = new ApplicationSqlExecutor({
    file,
    engineNames: engineSchemaNames(),
    clock: nodePorts.clock,
    readPreparedBranches: () => [],
  });
  file.exec('CREATE TABLE own (a INTEGER PRIMARY KEY, b)');
});

/** Runs one statement and rolls it back. */
function attempt(statement: string): string {
  file.exec('BEGIN');
  try {
    const { failure } = sql.run([{ sql: statement, parameters: [] }]);
    return failure?.code ?? 'done';
  } finally {
    file.exec('ROLLBACK');
    sql.onGroupUndone();
  }
}

describe('a statement of the application', () => {
  it.each(forms)(
    '%s: is refused with a table of the engine in any place, and accepted with tables of the application',
    (form) => {
      const parts = form.split('$');
      const places = parts.length - 1;
      const fill = (place: number, table: string) =>
        parts
          .map((part, index) => (index === places ? part : part + (index === place ? table : 'own')))
          .join('');
      // The error may also be that columns do not fit. What matters is that the statement is not executed.
      for (let place = 0; place < places; place += 1) {
        for (const table of engineTables) {
          for (const quote of quotes) {
            const statement = fill(place, quote(table));
            expect([statement, attempt(statement)]).not.toEqual([statement, 'done']);
          }
        }
      }
      expect(attempt(fill(-1, ''))).toBe('done');
    },
  );

  it('can use no table of the engine in a new file', () => {
    const names = engineSchemaNames();
    expect(engineTables.length).toBeGreaterThan(8);
    const schema = new ApplicationSchema(file, names);
    const rootPages = file
      .prepare("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'own' AND rootpage > 0")
      .pluck();
    expect([...schema.tableOfRoots().keys()]).toEqual(rootPages.all());
    expect([...schema.snapshot().applicationViews]).toEqual([]);
  });
});

describe('a program', () => {
  const judged = { keyword: 'SELECT', rootPages: new Set([7]) } as const;
  const instruction = { addr: 0, opcode: 'Noop', p1: 0, p2: 0, p3: 0, p4: null, p5: 0 };

  it('with an unreviewed instruction is refused', () => {
    expect(refusalReason([{ ...instruction, opcode: 'Tomorrow' }], judged)).toContain('Tomorrow');
  });

  it.each(['OpenRead', 'OpenWrite', 'ReopenIdx'])(
    'may use %s only on root pages of the application',
    (opcode) => {
      expect(refusalReason([{ ...instruction, opcode, p2: 7 }], judged)).toBeUndefined();
      expect(refusalReason([{ ...instruction, opcode, p2: 8 }], judged)).toBeDefined();
      expect(refusalReason([{ ...instruction, opcode, p2: 7, p3: 1 }], judged)).toBeDefined();
      expect(refusalReason([{ ...instruction, opcode, p2: 7, p5: 0x10 }], judged) === undefined).toBe(
        opcode !== 'OpenWrite',
      );
    },
  );
});
