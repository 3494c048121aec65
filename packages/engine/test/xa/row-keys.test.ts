/** The rows and tables that a branch in doubt locks depend on the keys of the tables. */
import { describe, expect, it } from 'vitest';
import { prepared, rows, run, type Statement, shareInstance } from './rows-support.ts';
import { code, xaOf } from './support.ts';
import { xidOf } from './xid-of.ts';

const shared = shareInstance({ sqlLockMsMax: 20 });
const xid = xidOf('transfer 1');

interface Case {
  tables: Statement[];
  branch: Statement[];
  /** Statements that are refused while the branch is in doubt. */
  locked: string[];
  /** Statements that commit while the branch is in doubt. */
  free: string[];
  found: [sql: string, rows: object[]];
}

const cases: [string, Case][] = [
  [
    'a table without a key: rows by their hidden number, new ones not at all',
    {
      tables: ['CREATE TABLE t (a)', 'INSERT INTO t VALUES (1), (2)'],
      branch: ['UPDATE t SET a = 10 WHERE a = 1', 'INSERT INTO t VALUES (3)'],
      locked: ['DELETE FROM t WHERE a = 1', 'UPDATE t SET a = 0'],
      free: ['INSERT INTO t VALUES (4)', 'UPDATE t SET a = 20 WHERE a = 2'],
      found: ['SELECT a FROM t ORDER BY a', [{ a: 3 }, { a: 4 }, { a: 10 }, { a: 20 }]],
    },
  ],
  [
    'numbers of AUTOINCREMENT: others get later ones',
    {
      tables: ['CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a)'],
      branch: ["INSERT INTO t (a) VALUES ('branch')"],
      locked: ["INSERT INTO t VALUES (1, 'x')"],
      free: ["INSERT INTO t (a) VALUES ('other')"],
      found: [
        'SELECT * FROM t ORDER BY id',
        [
          { id: 1, a: 'branch' },
          { id: 2, a: 'other' },
        ],
      ],
    },
  ],
  [
    'row numbers that SQLite chooses without AUTOINCREMENT: others wait for the next one',
    {
      tables: ['CREATE TABLE t (id INTEGER PRIMARY KEY, a)'],
      branch: ["INSERT INTO t (a) VALUES ('branch')"],
      locked: ["INSERT INTO t (a) VALUES ('other')"],
      free: ["INSERT INTO t VALUES (7, 'other')"],
      found: [
        'SELECT * FROM t ORDER BY id',
        [
          { id: 1, a: 'branch' },
          { id: 7, a: 'other' },
        ],
      ],
    },
  ],
  [
    'a primary key of two columns, without a rowid',
    {
      tables: [
        'CREATE TABLE t (a, b TEXT, n, PRIMARY KEY (a, b)) WITHOUT ROWID',
        "INSERT INTO t VALUES (1, 'x', 0), (1, 'y', 0)",
      ],
      branch: ["UPDATE t SET n = 1 WHERE b = 'x'", "INSERT INTO t VALUES (2, 'x', 1)"],
      locked: ["UPDATE t SET n = 2 WHERE a = 1 AND b = 'x'", "INSERT INTO t VALUES (2.0, 'x', 2)"],
      free: ["UPDATE t SET n = 2 WHERE b = 'y'", "INSERT INTO t VALUES (2, 'y', 2)"],
      found: ['SELECT n FROM t ORDER BY a, b', [{ n: 1 }, { n: 2 }, { n: 1 }, { n: 2 }]],
    },
  ],
  [
    'a text as primary key, whose rows have a number too',
    {
      tables: ['CREATE TABLE t (name TEXT PRIMARY KEY, n)', "INSERT INTO t VALUES ('a', 0), ('b', 0)"],
      branch: ["UPDATE t SET name = 'c' WHERE name = 'a'"],
      locked: ["INSERT INTO t VALUES ('c', 1)", "UPDATE t SET n = 1 WHERE name = 'a'"],
      free: ["INSERT INTO t VALUES ('d', 1)", "UPDATE t SET n = 1 WHERE name = 'b'"],
      found: ["SELECT name FROM t WHERE name IN ('a', 'c')", [{ name: 'c' }]],
    },
  ],
  [
    'unique values that are null: equal to nothing',
    {
      tables: ['CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE)'],
      branch: ['INSERT INTO t VALUES (1, NULL)'],
      locked: ['INSERT INTO t VALUES (1, 5)'],
      free: ['INSERT INTO t VALUES (2, NULL)'],
      found: ['SELECT count(*) AS n FROM t', [{ n: 2 }]],
    },
  ],
  [
    'a unique index on an expression: the whole table',
    {
      tables: ['CREATE TABLE t (id INTEGER PRIMARY KEY, a)', 'CREATE UNIQUE INDEX i ON t (lower(a))'],
      branch: ["INSERT INTO t VALUES (1, 'A')"],
      locked: ["INSERT INTO t VALUES (2, 'a')", "INSERT INTO t VALUES (3, 'b')"],
      free: ['SELECT * FROM t'],
      found: ['SELECT a FROM t', [{ a: 'A' }]],
    },
  ],
  [
    'a unique column that ignores case: the whole table',
    {
      tables: ['CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE COLLATE NOCASE)'],
      branch: ["INSERT INTO t VALUES (1, 'A')"],
      locked: ["INSERT INTO t VALUES (2, 'a')"],
      free: ['SELECT * FROM t'],
      found: ['SELECT a FROM t', [{ a: 'A' }]],
    },
  ],
  [
    'foreign keys: the tables on both ends, including rows that are deleted by cascade',
    {
      tables: [
        'CREATE TABLE parent (id INTEGER PRIMARY KEY)',
        'CREATE TABLE child (id INTEGER PRIMARY KEY, p REFERENCES PARENT (id) ON DELETE CASCADE ON UPDATE CASCADE)',
        'CREATE TABLE apart (a)',
        'INSERT INTO parent VALUES (1), (2), (3)',
        'INSERT INTO child VALUES (10, 1), (11, 1), (20, 2), (30, 3)',
      ],
      branch: [
        'DELETE FROM parent WHERE id = 1',
        'UPDATE parent SET id = 9 WHERE id = 2',
        'INSERT INTO child VALUES (31, 3)',
      ],
      locked: [
        'INSERT INTO child VALUES (12, 1)',
        'DELETE FROM parent WHERE id = 3',
        'INSERT INTO parent VALUES (5)',
      ],
      free: ['INSERT INTO apart VALUES (1)'],
      found: [
        'SELECT id, p FROM child ORDER BY id',
        [
          { id: 20, p: 9 },
          { id: 30, p: 3 },
          { id: 31, p: 3 },
        ],
      ],
    },
  ],
  [
    'generated columns, which follow from the others',
    {
      tables: ['CREATE TABLE t (id INTEGER PRIMARY KEY, a, b AS (a * 2), c AS (a * 3) STORED)'],
      branch: ['INSERT INTO t (id, a) VALUES (1, 5)'],
      locked: ['INSERT INTO t (id, a) VALUES (1, 6)'],
      free: ['INSERT INTO t (id, a) VALUES (2, 6)'],
      found: ['SELECT b, c FROM t WHERE id = 1', [{ b: 10, c: 15 }]],
    },
  ],
  [
    'names that need quotes, and a column that has the name of the row number',
    {
      tables: [`CREATE TABLE "it's ""t""" (rowid TEXT, "a b")`, `INSERT INTO "it's ""t""" VALUES ('r', 1)`],
      branch: [`UPDATE "it's ""t""" SET "a b" = 2`],
      locked: [`DELETE FROM "it's ""t"""`],
      free: [`INSERT INTO "it's ""t""" VALUES ('s', 3)`],
      found: [`SELECT * FROM "it's ""t""" WHERE rowid = 'r'`, [{ rowid: 'r', 'a b': 2 }]],
    },
  ],
];

describe('a branch in doubt locks', () => {
  it.each(cases)('%s', async (_what, { tables, branch, locked, free, found }) => {
    const instance = shared.current;
    const made = tables.flatMap((sql) => /CREATE TABLE ("(?:[^"]|"")+"|\w+)/.exec(sql as string)?.[1] ?? []);
    await run(instance, ...tables);
    const session = await prepared(instance, xid, ...branch);
    for (const statement of locked)
      await expect(run(instance, statement), statement).rejects.toEqual(code('SQL_LOCK_TIMEOUT'));
    for (const statement of free) await run(instance, statement);
    await xaOf(session).commit(xid);
    expect(await rows(instance, found[0])).toEqual(found[1]);
    for (const statement of free.filter((sql) => !sql.startsWith('INSERT'))) await run(instance, statement);
    await run(instance, ...made.reverse().map((table) => `DROP TABLE ${table}`));
  });

  it.each([
    "SELECT shardlab_touch('t', 'inserted', 1)",
    "CREATE TABLE t (a DEFAULT (Shardlab_Touch('t', 'inserted', 1)))",
  ])('by a function that the application cannot call (%s)', async (statement) => {
    await expect(run(shared.current, statement)).rejects.toEqual(code('SQL_REFUSED'));
  });

  it('and is refused if its rows cannot be written again in any order', async () => {
    const instance = shared.current;
    await run(
      instance,
      'CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE)',
      'INSERT INTO t VALUES (1, 1), (2, 2)',
    );
    const session = instance.openSession();
    await xaOf(session).start(xid);
    session.execute('UPDATE t SET a = 0 WHERE id = 1');
    session.execute('UPDATE t SET a = 1 WHERE id = 2');
    session.execute('UPDATE t SET a = 2 WHERE id = 1');
    await xaOf(session).end(xid);
    await expect(xaOf(session).prepare(xid)).rejects.toMatchObject({ details: { cause: 'XA_UNSUPPORTED' } });
    await run(instance, 'UPDATE t SET a = a + 10', 'DROP TABLE t');
  });
});
