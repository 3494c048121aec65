/** Statements of tightly coupled branches on two served instances are shipped to the home instance if that has the tables. */
import { describe, expect, it } from 'vitest';
import type { Session, XaResource, Xid } from '../../src/index.ts';
import { rows, run } from './rows-support.ts';
import { code, takeAll, xaOf } from './support.ts';
import { a, b, openTwo, ship, tight } from './tight-support.ts';

describe('rows of the application in tightly coupled branches', () => {
  const table =
    'CREATE TABLE shipped (name TEXT PRIMARY KEY, weight INTEGER, label BLOB) STRICT, WITHOUT ROWID';
  const insert = 'INSERT INTO shipped VALUES (?, ?, ?)';
  const all = 'SELECT name, weight, label FROM shipped ORDER BY name';

  /** Starts a branch, inserts a row and enqueues a shipment, sends both and ends: three round trips. */
  async function insertAndEnqueue(session: Session, xid: Xid, name: string): Promise<void> {
    await xaOf(session).start(xid, tight);
    session.execute(insert, [name, 2n ** 60n, Buffer.from(name)]);
    session.enqueue('shipments', { payload: name });
    await xaOf(session).flush(xid);
    await xaOf(session).end(xid);
  }

  it('are inserted by both branches at the home instance, which has the tables, in nine round trips', async () => {
    const { one, two, clients } = await openTwo();
    await run(one, table);
    const [first, second] = [clients.one.openSession(), clients.two.openSession()];
    await insertAndEnqueue(first, a, 's1');
    await insertAndEnqueue(second, b, 's2');
    const { groups } = two.stats();
    expect([await xaOf(first).prepare(a), await xaOf(second).prepare(b)]).toEqual(['ok', 'read-only']);
    expect(two.stats().groups).toBe(groups); // The prepare wrote nothing.
    expect(await rows(one, all)).toEqual([]);
    await xaOf(first).commit(a);
    expect(first.roundTrips! + second.roundTrips!).toBe(9);
    expect(await rows(one, all)).toEqual(
      ['s1', 's2'].map((name) => ({ name, weight: 2n ** 60n, label: Buffer.from(name) })),
    );
    expect(await takeAll(one, 'shipments')).toEqual(['s1', 's2']);
  });

  it('of a branch without messages are shipped too', async () => {
    const { one, two } = await openTwo();
    await run(one, table);
    await ship(one.openSession(), a, 's1');
    const session = two.openSession();
    await xaOf(session).start(b, tight);
    session.execute(insert, ['s2', 1, null]);
    await xaOf(session).end(b);
    expect([await one.xa.prepare(a), await two.xa.prepare(b)]).toEqual(['ok', 'read-only']);
    await one.xa.commit(a);
    expect(await rows(one, 'SELECT name FROM shipped')).toEqual([{ name: 's2' }]);
  });

  it('that were shipped are in the prepared row of the home instance over a restart', async () => {
    const { one, two, restartOne } = await openTwo();
    await run(one, table);
    await insertAndEnqueue(one.openSession(), a, 's1');
    await insertAndEnqueue(two.openSession(), b, 's2');
    await one.xa.prepare(a);
    const again = await restartOne();
    expect(await two.xa.prepare(b)).toBe('read-only');
    expect(await rows(again, all)).toEqual([]);
    await again.xa.commit(a);
    expect(await rows(again, 'SELECT name FROM shipped ORDER BY name')).toEqual([
      { name: 's1' },
      { name: 's2' },
    ]);
    expect(await takeAll(again, 'shipments')).toEqual(['s1', 's2']);
  });

  it('that violate a constraint make the prepare at the home instance fail, and with it both branches', async () => {
    const { one, two } = await openTwo();
    await run(one, table);
    await insertAndEnqueue(one.openSession(), a, 'same');
    await insertAndEnqueue(two.openSession(), b, 'same');
    await expect(one.xa.prepare(a)).rejects.toEqual(code('XA_RBINTEGRITY'));
    await expect(two.xa.prepare(b)).rejects.toEqual(code('XA_RBCOMMFAIL'));
    expect(await rows(one, all)).toEqual([]);
    expect([...(await takeAll(one, 'shipments')), ...(await takeAll(two, 'shipments'))]).toEqual([]);
  });

  it('are kept by their own branch if its instance has the tables and the home instance does not', async () => {
    const { one, two } = await openTwo();
    await run(two, table);
    await ship(one.openSession(), a, 's1');
    await insertAndEnqueue(two.openSession(), b, 's2');
    expect([await one.xa.prepare(a), await two.xa.prepare(b)]).toEqual(['ok', 'ok']);
    await Promise.all([one.xa.commit(a), two.xa.commit(b)]);
    expect(await rows(two, 'SELECT name FROM shipped')).toEqual([{ name: 's2' }]);
  });

  it.each([
    ['is prepared without a branch of the home instance', (xa: XaResource) => xa.prepare(b)],
    ['is committed in one phase', (xa: XaResource) => xa.commit(b, { onePhase: true })],
  ])('are refused on an instance without the tables if their branch %s', async (_, end) => {
    const { one, two } = await openTwo();
    await run(one, table);
    await insertAndEnqueue(two.openSession(), b, 's2');
    await expect(end(two.xa)).rejects.toMatchObject({ code: 'XA_RBOTHER', cause: { code: 'SQL_ELSEWHERE' } });
    expect(await rows(one, all)).toEqual([]);
    expect(await takeAll(two, 'shipments')).toEqual([]);
  });

  it('are refused at once in a branch whose home instance has no tables, and as a query', async () => {
    const { one, two } = await openTwo();
    await run(one, table);
    const session = two.openSession();
    await xaOf(session).start(b, tight);
    await expect(session.query(all)).rejects.toEqual(code('SQL_ELSEWHERE'));
    await xaOf(session).end(b);
    await two.xa.rollback(b);
    for (const options of [{ ...tight, home: 2 }, {}]) {
      await xaOf(session).start(b, options);
      expect(() => session.execute(insert, ['s2', 1, null])).toThrow(code('SQL_ELSEWHERE'));
      await xaOf(session).end(b);
      await two.xa.rollback(b);
    }
  });
});
