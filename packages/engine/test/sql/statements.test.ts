/** The results, parameters and bounds of single statements. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { SqlValue } from '../../src/index.ts';
import { SqlBudget } from '../../src/storage/application-sql/sql-budget.ts';
import { code, openApplication, rowsOf, run, shareApplication } from './application.ts';

describe('a statement of the application', () => {
  const shared = shareApplication();

  it('returns its rows, its number of changes and the last rowid', async () => {
    const { session } = await openApplication();
    session.execute("INSERT INTO item (name, stock) VALUES ('nut', 5), ('bolt', 7)");
    session.execute("INSERT INTO item (name, stock) VALUES ('screw', 1) RETURNING id, name");
    session.execute('UPDATE item SET stock = stock + 1 WHERE stock > ?', [4]);
    session.execute('SELECT name, stock FROM item ORDER BY id');
    session.execute("INSERT INTO item (name) VALUES ('nut') ON CONFLICT DO NOTHING");
    session.execute('DELETE FROM item WHERE name = :name', { name: 'nut' });
    const { results, ids } = await session.commit();
    expect(ids).toEqual([]);
    expect(results).toEqual([
      { rows: [], changes: 2, lastInsertRowid: 2 },
      { rows: [{ id: 3, name: 'screw' }], changes: 1, lastInsertRowid: 3 },
      { rows: [], changes: 2, lastInsertRowid: null },
      {
        rows: [
          { name: 'nut', stock: 6 },
          { name: 'bolt', stock: 8 },
          { name: 'screw', stock: 1 },
        ],
        changes: 0,
        lastInsertRowid: null,
      },
      { rows: [], changes: 0, lastInsertRowid: null },
      { rows: [], changes: 1, lastInsertRowid: null },
    ]);
  });

  it('sees the changes of earlier statements in its transaction, and commits with the messages of that', async () => {
    const { instance, session } = await openApplication();
    session.enqueue('q', { payload: 'made' });
    session.execute("INSERT INTO item (name) VALUES ('nut')");
    session.execute('SELECT count(*) AS items FROM item');
    const { ids, results } = await session.commit();
    expect(ids).toHaveLength(1);
    expect(results[1]!.rows).toEqual([{ items: 1 }]);
    expect((await session.dequeue('q')).map(({ id }) => id)).toEqual(ids);
    expect(await rowsOf(instance)).toHaveLength(1);
  });

  it.each<[string, SqlValue]>([
    ['null', null],
    ['a small integer', 42],
    ['the largest exact number', Number.MAX_SAFE_INTEGER],
    ['an integer past 2^53', 2n ** 53n + 1n],
    ['the largest integer', 2n ** 63n - 1n],
    ['the smallest integer', -(2n ** 63n)],
    ['a real', 0.1],
    ['infinity', Number.POSITIVE_INFINITY],
    ['an empty string', ''],
    ['text', 'blåbær 🫐'],
    ['no bytes', new Uint8Array()],
    ['bytes', Uint8Array.of(0, 1, 255)],
  ])('keeps %s as it is', async (_, value) => {
    const { session } = shared;
    session.execute('CREATE TABLE kept (value)');
    session.execute('INSERT INTO kept VALUES (?)', [value]);
    session.execute('SELECT value, typeof(value) AS type FROM kept');
    session.execute('DROP TABLE kept');
    const [row] = (await session.commit()).results[2]!.rows;
    const kept = row!.value instanceof Uint8Array ? Uint8Array.from(row!.value) : row!.value;
    expect(kept).toEqual(value);
    if (typeof value === 'bigint' || Number.isSafeInteger(value)) expect(row!.type).toBe('integer');
  });

  it('uses the bytes that a parameter had when it was staged', async () => {
    const { session } = shared;
    const bytes = Uint8Array.of(1, 2, 3);
    session.execute('SELECT ? AS bytes', [bytes]);
    bytes.fill(9);
    const { results } = await session.commit();
    expect([...(results[0]!.rows[0]!.bytes as Uint8Array)]).toEqual([1, 2, 3]);
  });

  it.each<[string, string, readonly SqlValue[] | Record<string, SqlValue>, string]>([
    ['a typing error', 'SELEC 1', [], 'SQL_REFUSED'],
    ['a syntax error', 'SELECT FROM', [], 'SQL_INVALID'],
    ['a table that is not there', 'SELECT * FROM nowhere', [], 'SQL_INVALID'],
    ['nothing', ' -- only a comment', [], 'SQL_REFUSED'],
    ['two statements', 'SELECT 1; SELECT 2', [], 'SQL_INVALID'],
    ['too few parameters', 'SELECT ?, ?', [1], 'SQL_INVALID'],
    ['too many parameters', 'SELECT ?', [1, 2], 'SQL_INVALID'],
    ['a name that is missing', 'SELECT :a, :b', { a: 1 }, 'SQL_INVALID'],
    ['not a number', 'SELECT ?', [Number.NaN], 'SQL_INVALID'],
    ['an integer past 64 bits', 'SELECT ?', [2n ** 63n], 'SQL_INVALID'],
    ['what is no value', 'SELECT ?', [true as unknown as number], 'SQL_INVALID'],
    ['U+0000', 'SELECT 1\0; DELETE FROM item', [], 'SQL_INVALID'],
    ['a constraint', "INSERT INTO item (name, stock) VALUES ('x', -1)", [], 'SQL_FAILED'],
    ['a failure of a function', "SELECT json('{')", [], 'SQL_FAILED'],
    ['a text over the bound', `SELECT '${'x'.repeat(limits.sqlCharactersMax)}'`, [], 'SQL_TOO_LARGE'],
    ['parameters over the bound', 'SELECT 1', Array(limits.sqlParametersMax + 1).fill(1), 'SQL_TOO_LARGE'],
  ])('is refused for %s, and the session can be used again', async (_, sql, parameters, expected) => {
    const { session } = shared;
    await expect(async () => run(session, sql, parameters)).rejects.toThrow(code(expected));
    await session.rollback();
    expect(await run(session, 'SELECT 1 AS one')).toMatchObject({ rows: [{ one: 1 }] });
  });

  it('is named by its index in the error if it fails', async () => {
    const { session } = shared;
    session.execute('SELECT 1');
    session.execute("INSERT INTO item (name, stock) VALUES ('x', -1)");
    await expect(session.commit()).rejects.toThrow(
      code('SQL_FAILED', { statement: 1, sqlite: 'SQLITE_CONSTRAINT_CHECK' }),
    );
  });

  it('is refused past the maximum number in a transaction', async () => {
    const { session } = shared;
    for (let index = 0; index < limits.sqlStatementsMax; index += 1) session.execute('SELECT 1');
    expect(() => session.execute('SELECT 1')).toThrow(code('SQL_TOO_LARGE'));
    expect((await session.commit()).results).toHaveLength(limits.sqlStatementsMax);
  });
});

describe('the result of statements', () => {
  const shared = shareApplication();
  const digits =
    '(SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)';

  it('is bounded in rows over the whole transaction', async () => {
    const { session } = shared;
    const thousand = `SELECT 1 FROM ${digits}, ${digits}, ${digits}`;
    for (let count = 0; count < limits.sqlRowsMax; count += 1_000) session.execute(thousand);
    session.execute('SELECT 1');
    const statement = limits.sqlRowsMax / 1_000;
    await expect(session.commit()).rejects.toThrow(code('SQL_TOO_LARGE', { statement }));
  });

  it('is bounded in bytes, the names of columns included', async () => {
    const { session } = shared;
    const name = 'n'.repeat(60_000);
    await expect(run(session, `SELECT 1 AS ${name} FROM ${digits}, ${digits}`)).rejects.toThrow(
      code('SQL_TOO_LARGE'),
    );
    await expect(run(session, 'SELECT randomblob(?)', [limits.sqlResultBytesMax])).rejects.toThrow(
      code('SQL_TOO_LARGE'),
    );
  });

  it('is bounded in time, which is checked after each row', () => {
    let now = 0;
    const budget = new SqlBudget({ monotonicMs: () => now, epochMs: () => now });
    now = limits.sqlExecutionMsMax;
    budget.countRow({ a: 1 });
    now += 1;
    expect(() => budget.countRow({ a: 1 })).toThrow(
      code('SQL_TOO_SLOW', { msMax: limits.sqlExecutionMsMax }),
    );
    expect(() => budget.assertDeadlineNotPassed()).toThrow(code('SQL_TOO_SLOW'));
  });
});
