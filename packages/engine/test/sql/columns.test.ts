/** Every column of a result is returned, whatever its name. */
import { describe, expect, it } from 'vitest';
import { distinctColumnNames } from '../../src/model/sql-values.ts';
import { connectTo, serve } from '../remote/serving.ts';
import { openApplication } from './application.ts';

const sql = 'SELECT 1 AS "__proto__", 2 AS id, 3 AS id, 4 AS "constructor", 5 AS id, 6 AS "id:1"';
const row = Object.fromEntries([
  ['__proto__', 1],
  ['id', 2],
  ['id:2', 3],
  ['constructor', 4],
  ['id:3', 5],
  ['id:1', 6],
]);

describe('columns named __proto__, and several of one name', () => {
  it('are returned by a commit and by a query', async () => {
    const { session } = await openApplication();
    session.execute(sql);
    const [executed] = (await session.commit()).results;
    const queried = await session.query(sql);
    for (const { rows } of [executed!, queried]) {
      expect(Object.entries(rows[0]!)).toEqual(Object.entries(row));
      expect(Object.getPrototypeOf(rows[0])).toBe(Object.prototype);
    }
  });

  it('are returned to another process', async () => {
    const { instance } = await openApplication();
    const { path } = await serve(instance);
    const session = (await connectTo(path)).openSession();
    session.execute(sql);
    const { rows } = (await session.commit()).results[0]!;
    expect(Object.entries(rows[0]!)).toEqual(Object.entries(row));
  });

  it('get the names that SQLite gives them in a subquery', async () => {
    expect(distinctColumnNames(['a', 'a', 'b', 'a'])).toEqual(['a', 'a:1', 'b', 'a:2']);
    const { session } = await openApplication();
    session.execute('SELECT * FROM (SELECT 1 AS a, 2 AS a, 3 AS b, 4 AS a)');
    const { rows } = (await session.commit()).results[0]!;
    expect(Object.keys(rows[0]!)).toEqual(['a', 'a:1', 'b', 'a:2']);
  });
});
