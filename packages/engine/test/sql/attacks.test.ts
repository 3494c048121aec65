/**
 * All known ways to access a table of the engine, to leave the group's transaction, or to block the writer for ever. Each is tried in a
 * transaction with a message, is refused with a typed error and changes nothing.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it } from 'vitest';
import { QueueError, type QueueErrorCode, type Session, type SqlValue } from '../../src/index.ts';
import { text } from '../folder.ts';
import { openApplication, rowsOf, run, shareApplication } from './application.ts';

type Attack = [what: string, ...statements: string[]];

const refused: Attack[] = [
  // Reading tables of the engine.
  ['a table of the engine', 'SELECT * FROM meta'],
  ['a partition', 'SELECT body FROM partition_1'],
  ['by a schema name', 'SELECT * FROM main.partition_1'],
  ['in other case', 'SELECT * FROM MeTa'],
  ['in double quotes', 'SELECT * FROM "meta"'],
  ['in brackets', 'SELECT * FROM [meta]'],
  ['in backticks', 'SELECT * FROM main.`consumption`'],
  ['in single quotes', "SELECT * FROM 'meta'"],
  ['behind comments', '/* x */ SELECT -- y\n * FROM /* z */ meta'],
  ['in a sub-select', 'SELECT (SELECT value FROM meta)'],
  ['in EXISTS', 'SELECT 1 WHERE EXISTS (SELECT 1 FROM meta)'],
  ['in IN', "SELECT 1 WHERE 'epoch' IN (SELECT key FROM meta)"],
  ['in a table name after IN', "SELECT 1 WHERE ('epoch', 1) IN meta"],
  ['in a CTE', 'WITH x AS (SELECT * FROM meta) SELECT * FROM x'],
  ['in a CTE that hides behind a name', 'WITH item AS (SELECT * FROM meta) SELECT * FROM item'],
  ['in a compound', 'SELECT id FROM item UNION ALL SELECT value FROM meta'],
  ['in a join', 'SELECT * FROM item LEFT JOIN partition ON partition = id'],
  ['by counting', 'SELECT count(*) FROM partition_1'],
  ['by min', 'SELECT min(seq) FROM partition_1'],
  ['by a SELECT without rows', 'SELECT * FROM meta LIMIT 0'],
  ['where it is never reached', 'SELECT * FROM meta WHERE 0'],
  ['in ORDER BY', 'SELECT id FROM item ORDER BY (SELECT value FROM meta)'],
  ['in LIMIT', 'SELECT id FROM item LIMIT (SELECT value FROM meta)'],
  ['in a window', 'SELECT sum((SELECT value FROM meta)) OVER () FROM item'],
  ['in VALUES', 'VALUES ((SELECT value FROM meta))'],
  ['the schema', 'SELECT * FROM sqlite_schema'],
  ['the schema by its old name', 'SELECT * FROM main.sqlite_master'],
  ['the schema of temporary tables', 'SELECT * FROM sqlite_temp_master'],
  ['a view of the engine', 'SELECT * FROM shardlab_queues'],
  ['a view of the engine, to drop it', 'DROP VIEW shardlab_queues'],
  // Writing to tables of the engine.
  ['an INSERT', "INSERT INTO meta VALUES ('x', 1)"],
  ['a REPLACE', "REPLACE INTO meta VALUES ('epoch', 99)"],
  ['an UPDATE', 'UPDATE meta SET value = 99'],
  ['a DELETE of all', 'DELETE FROM consumption'],
  ['a DELETE of some', 'DELETE FROM partition_1 WHERE seq > 0'],
  ['an UPSERT', "INSERT INTO meta VALUES ('epoch', 1) ON CONFLICT (key) DO UPDATE SET value = 99"],
  [
    'an UPSERT that looks there',
    'INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET stock = (SELECT value FROM meta)',
  ],
  ['RETURNING', "INSERT INTO item (name) VALUES ('x') RETURNING (SELECT value FROM meta)"],
  ['INSERT from it', 'INSERT INTO item (name) SELECT key FROM meta'],
  ['UPDATE FROM it', 'UPDATE item SET stock = value FROM meta'],
  ['WITH before DELETE', 'WITH x AS (SELECT 1) DELETE FROM meta'],
  ['INSERT OR ROLLBACK', 'INSERT OR ROLLBACK INTO item (id) VALUES (1)'],
  ['UPDATE OR ROLLBACK', 'UPDATE OR ROLLBACK item SET id = 1'],
  [
    'a constraint that rolls back',
    'CREATE TABLE rolls (a INTEGER UNIQUE ON CONFLICT ROLLBACK)',
    'INSERT INTO rolls VALUES (1)',
  ],
  [
    'a deferred foreign key',
    'CREATE TABLE later (a INTEGER REFERENCES item (id) DEFERRABLE INITIALLY DEFERRED)',
    'INSERT INTO later VALUES (77)',
  ],
  // Changing the schema.
  ['DROP TABLE', 'DROP TABLE meta'],
  ['DROP TABLE of a partition', 'DROP TABLE IF EXISTS main.partition_1'],
  ['ALTER TABLE RENAME', 'ALTER TABLE meta RENAME TO mine'],
  ['ALTER TABLE RENAME COLUMN', 'ALTER TABLE meta RENAME COLUMN value TO v'],
  ['ALTER TABLE ADD', 'ALTER TABLE meta ADD COLUMN mine TEXT'],
  ['ALTER TABLE DROP COLUMN', 'ALTER TABLE partition DROP COLUMN crc'],
  ['a rename to a name of the engine', 'ALTER TABLE item RENAME TO partition_77'],
  ['a rename to a name of later formats', 'ALTER TABLE item RENAME TO shardlab_item'],
  ['an index on it', 'CREATE INDEX mine ON partition (queue_id)'],
  ['a unique index on it', 'CREATE UNIQUE INDEX mine ON meta (value)'],
  ['an index on it for no row', 'CREATE INDEX mine ON meta (value) WHERE 0'],
  ['a table of a partition to come', 'CREATE TABLE partition_99 (a)'],
  ['the same in other case', 'CREATE TABLE "Partition_99" (a)'],
  ['an index called like a partition', 'CREATE INDEX partition_99 ON item (stock)'],
  ['a view called like a partition', 'CREATE VIEW partition_99 AS SELECT 1'],
  ['a table called like those of later formats', 'CREATE TABLE shardlab_x (a)'],
  ['CREATE TABLE AS', 'CREATE TABLE copy AS SELECT * FROM partition_1'],
  ['CREATE TABLE AS of the schema', 'CREATE TABLE copy AS SELECT * FROM sqlite_schema'],
  ['a view on it', 'CREATE VIEW look AS SELECT * FROM meta'],
  [
    'a view on a view on it',
    'CREATE VIEW one AS SELECT 1',
    'CREATE VIEW two AS SELECT (SELECT value FROM meta) FROM one',
  ],
  ['a foreign key to it', 'CREATE TABLE child (k TEXT REFERENCES meta (key) ON DELETE CASCADE)'],
  [
    'a foreign key to a partition to come',
    'CREATE TABLE child (k INTEGER, FOREIGN KEY (k) REFERENCES "Partition_99" (seq))',
  ],
  ['a foreign key that is added', 'ALTER TABLE item ADD COLUMN k TEXT REFERENCES meta (key)'],
  ['a trigger on it', 'CREATE TRIGGER t AFTER INSERT ON consumption BEGIN DELETE FROM item; END'],
  ['a trigger on a table of its own', 'CREATE TRIGGER t AFTER INSERT ON item BEGIN DELETE FROM meta; END'],
  ['a temporary trigger', 'CREATE TEMP TRIGGER t AFTER INSERT ON main.meta BEGIN SELECT 1; END'],
  ['a trigger behind a comment', 'CREATE /* TABLE */ TRIGGER t AFTER INSERT ON meta BEGIN SELECT 1; END'],
  ['a temporary table', 'CREATE TEMP TABLE meta (key, value)'],
  ['a temporary table by its schema', 'CREATE TABLE temp.meta (key, value)'],
  ['a temporary view', 'CREATE TEMPORARY VIEW meta AS SELECT 1'],
  ['a temporary view by its schema', 'CREATE VIEW temp.meta AS SELECT 1'],
  ['a virtual table', "CREATE VIRTUAL TABLE words USING fts5 (body, content='partition_1')"],
  ['a virtual table behind a comment', 'CREATE/**/VIRTUAL TABLE area USING rtree (id, a, b)'],
  ['a write to the schema', "UPDATE sqlite_schema SET sql = ''"],
  ['an insert into the schema', "INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 2, '')"],
  ['a delete from the schema', "DELETE FROM sqlite_schema WHERE name = 'meta'"],
  ['statistics', 'CREATE TABLE sqlite_stat1 (tbl, idx, stat)'],
  // Using virtual tables of SQLite.
  ['the pages of the file', 'SELECT * FROM dbstat'],
  ['a pragma as a table', "SELECT * FROM pragma_table_info('meta')"],
  ['a pragma as a table in a sub-select', 'SELECT (SELECT foreign_keys FROM pragma_foreign_keys)'],
  ['JSON as a table', "SELECT * FROM json_each('[1]')"],
  // Leaving the transaction.
  ...[
    'BEGIN',
    'BEGIN IMMEDIATE',
    'COMMIT',
    'END',
    'END TRANSACTION',
    'ROLLBACK',
    'ROLLBACK TO application',
    'SAVEPOINT mine',
    'RELEASE application',
    "ATTACH ':memory:' AS other",
    'DETACH main',
    'VACUUM',
    "VACUUM INTO 'copy.db'",
    'ANALYZE',
    'ANALYZE item',
    'REINDEX',
    'REINDEX meta',
    'PRAGMA synchronous = OFF',
    'PRAGMA main.journal_mode = DELETE',
    '/**/PRAGMA writable_schema = ON',
    '\uFEFFPRAGMA foreign_keys = OFF',
    '-- \n PRAGMA wal_checkpoint',
    'pragma user_version = 99',
    'EXPLAIN SELECT 1',
    'EXPLAIN PRAGMA foreign_keys = OFF',
    'EXPLAIN QUERY PLAN SELECT 1',
    '; SELECT 1',
    '(SELECT 1)',
  ].map((sql): Attack => [JSON.stringify(sql), sql]),
  // Several statements in one.
  ['a second statement', 'SELECT 1; DELETE FROM meta'],
  ['a second statement behind a comment', 'SELECT 1 /* ; */ ; /* */ PRAGMA foreign_keys = OFF'],
  ['code from a file', "SELECT load_extension('x')"],
  ['a tokenizer', "SELECT fts3_tokenizer('simple')"],
  // Statements without an end.
  [
    'a recursive CTE',
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n',
  ],
  [
    'a recursive CTE without the keyword RECURSIVE',
    'WITH n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT i FROM n LIMIT 1',
  ],
  [
    'a recursive CTE in a view',
    'CREATE VIEW n AS WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n',
  ],
  [
    'a recursive CTE in an INSERT',
    'INSERT INTO item (id) WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n',
  ],
];

const codes: readonly QueueErrorCode[] = ['SQL_REFUSED', 'SQL_INVALID'];

/** The engine's part of the file, except for rows that each commit writes. */
function engineOf(dir: string) {
  const file = new Database(join(dir, 'instance-1.db'), { readonly: true });
  try {
    const schema = file.prepare("SELECT * FROM sqlite_schema WHERE tbl_name <> 'item' ORDER BY name").all();
    const state = ['foreign_keys', 'user_version', 'journal_mode'].map((name) => file.pragma(name));
    const tables = ['partition', 'subscription', 'evacuated', 'attempt', 'delayed', 'partition_1'];
    return [schema, state, ...tables.map((name) => file.prepare(`SELECT * FROM ${name}`).all())];
  } finally {
    file.close();
  }
}

const forms = {
  staged: async (session: Session, statements: string[]) => {
    for (const sql of statements) session.execute(sql);
    await session.commit();
  },
  'answered at once': async (session: Session, statements: string[]) => {
    for (const sql of statements) await session.query(sql);
  },
};

describe.each(Object.entries(forms))('a statement, %s, of these kinds is refused:', (_form, runAll) => {
  const shared = shareApplication();

  beforeAll(async () => {
    const { session } = shared;
    session.execute("INSERT INTO item (id, name, stock) VALUES (1, 'kept', 1)");
    session.enqueue('q', { payload: 'kept' });
    await session.commit();
  });

  it.each(refused)('%s', async (_, ...statements) => {
    const { dir, instance, session } = shared;
    const before = engineOf(dir);
    const attempt = async () => {
      session.enqueue('q', { payload: 'never' });
      await runAll(session, statements);
    };
    const error = await attempt().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    await session.rollback();
    expect(error).toBeInstanceOf(QueueError);
    expect(codes).toContain((error as QueueError).code);
    expect(engineOf(dir)).toEqual(before);
    expect(await rowsOf(instance)).toEqual<Record<string, SqlValue>[]>([{ id: 1, name: 'kept', stock: 1 }]);
  });

  it('and the queue works after all of them', async () => {
    const { instance, session } = shared;
    session.enqueue('q', { payload: 'after' });
    await session.commit();
    expect(text(await session.dequeue('q', { max: 9 }))).toEqual(['kept', 'after']);
    await session.rollback();
    expect(instance.queue('q')).toMatchObject({ enqueued: 2, ready: 2 });
  });
});

it('statements that were checked before a rollback are checked again', async () => {
  const { session } = await openApplication();
  const selectSql = 'SELECT * FROM place';
  session.execute('CREATE VIEW place AS SELECT 1 AS a');
  session.execute(selectSql);
  session.execute('INSERT INTO item (stock) VALUES (-1)');
  await expect(session.commit()).rejects.toThrow();
  session.execute('CREATE TABLE place (b)'); // The schema now has the same version number as before the rollback.
  session.execute('INSERT INTO place VALUES (2)');
  session.execute(selectSql);
  expect((await session.commit()).results[2]!.rows).toEqual([{ b: 2 }]);
});

describe('what an application may do with its schema', () => {
  it.each<Attack>([
    [
      'tables, strict and without rowid',
      'CREATE TABLE a (x INTEGER PRIMARY KEY, y ANY) STRICT',
      'CREATE TABLE b (x TEXT PRIMARY KEY) WITHOUT ROWID',
    ],
    [
      'a table that counts up',
      'CREATE TABLE a (x INTEGER PRIMARY KEY AUTOINCREMENT, y)',
      'INSERT INTO a (y) VALUES (1)',
      'DELETE FROM a',
      'DROP TABLE a',
    ],
    ['a table from a query', 'CREATE TABLE a AS SELECT * FROM item', 'SELECT * FROM a'],
    [
      'indexes',
      'CREATE INDEX a ON item (stock)',
      'CREATE UNIQUE INDEX b ON item (name, stock)',
      'DROP INDEX a',
    ],
    ['views', 'CREATE VIEW a AS SELECT name FROM item', 'SELECT * FROM a', 'DROP VIEW a'],
    [
      'new columns',
      'ALTER TABLE item ADD COLUMN a TEXT',
      'ALTER TABLE item RENAME COLUMN a TO b',
      'ALTER TABLE item DROP COLUMN b',
    ],
    [
      'new columns of a strict table',
      'CREATE TABLE a (x INTEGER) STRICT',
      'ALTER TABLE a ADD COLUMN y TEXT CHECK (length(y) < 9)',
    ],
    ['new names', 'ALTER TABLE item RENAME TO thing', 'SELECT * FROM thing'],
    [
      'foreign keys with cascades',
      'CREATE TABLE a (x INTEGER REFERENCES item (id) ON DELETE CASCADE)',
      'INSERT INTO item (id) VALUES (1)',
      'INSERT INTO a VALUES (1)',
      'DELETE FROM item',
      'SELECT * FROM a',
    ],
    [
      'generated columns',
      'CREATE TABLE a (x INTEGER, y INTEGER GENERATED ALWAYS AS (x * 2) STORED)',
      'INSERT INTO a (x) VALUES (1)',
    ],
    ['IF NOT EXISTS and IF EXISTS', 'CREATE TABLE IF NOT EXISTS item (id)', 'DROP TABLE IF EXISTS absent'],
  ])('%s', async (_, ...statements) => {
    const { session } = await openApplication();
    for (const sql of statements) session.execute(sql);
    expect((await session.commit()).results).toHaveLength(statements.length);
  });

  it('a table can be dropped, and its place in the file taken by a partition, which stays out of reach', async () => {
    const { session } = await openApplication({ partitionMessagesMax: 1 });
    await run(session, 'CREATE TABLE place (a)');
    await run(session, 'INSERT INTO place VALUES (1)');
    await run(session, 'DROP TABLE place');
    for (let index = 0; index < 8; index += 1) {
      session.enqueue('q', { payload: `${index}` });
      await session.commit();
    }
    await expect(run(session, 'INSERT INTO place VALUES (1)')).rejects.toThrow();
    expect(await run(session, 'SELECT count(*) AS items FROM item')).toMatchObject({ rows: [{ items: 0 }] });
  });
});
