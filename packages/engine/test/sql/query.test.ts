/** Queries, which are answered before the commit: what they see, how their transaction ends, and how long they delay other commits. */
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Instance, InstanceOptions, Session } from '../../src/index.ts';
import { makeFolder, openTestClient, openTestInstance, text } from '../folder.ts';
import { whileLocked } from '../while-locked.ts';
import { code, openApplication, rowsOf } from './application.ts';

const insert = 'INSERT INTO item (id, stock) VALUES (?, ?)';

/** A reservation long enough not to expire on a busy machine. */
const open = (options: Partial<InstanceOptions> = {}) =>
  openApplication({ writerReservationMsMax: 10_000, ...options });

function commitOf(session: Session, payload: string) {
  session.enqueue('q', { payload });
  return session.commit();
}

const reservationWaitsOf = (instance: Instance) =>
  instance.waits.snapshot().find(({ event }) => event === 'writer reservation')!.waits;

describe('a transaction with queries', () => {
  it('sees its own changes, and all of them commit together', async () => {
    const dir = makeFolder();
    const { instance, session } = await open({ dir });
    await commitOf(session, '7');
    const [message] = await session.dequeue('q');
    const id = Number(message!.payload);
    expect(await session.query('SELECT stock FROM item WHERE id = ?', [id])).toEqual({
      rows: [],
      changes: 0,
      lastInsertRowid: null,
    });
    expect(await session.query(insert, [id, 3])).toMatchObject({ changes: 1, lastInsertRowid: 7 });
    const { rows } = await session.query('UPDATE item SET stock = stock + 1 RETURNING stock');
    session.enqueue('q', { payload: `stock ${rows[0]!.stock}` });
    const { ids, results } = await session.commit();
    expect([ids.length, results]).toEqual([1, []]);
    await instance.close();
    const again = await openTestInstance({ dir });
    expect(await rowsOf(again)).toEqual([{ id: 7, name: null, stock: 4 }]);
    expect(text(await again.openSession().dequeue('q', { max: 9 }))).toEqual(['stock 4']);
  });

  it('is durable without a message', async () => {
    const dir = makeFolder();
    const { instance, session } = await open({ dir });
    await session.query(insert, [1, 1]);
    await session.commit();
    await instance.close();
    expect(await rowsOf(await openTestInstance({ dir }))).toHaveLength(1);
  });

  it('commits together with nonpersistent messages, which write nothing themselves', async () => {
    const { instance, session } = await open();
    await instance.createQueue({ name: 'fast', durability: 'memory' });
    await session.query(insert, [1, 1]);
    session.enqueue('fast', { payload: 'a' });
    await session.commit();
    expect(await rowsOf(instance)).toHaveLength(1);
    expect(text(await session.dequeue('fast'))).toEqual(['a']);
  });

  it('changes nothing when it is rolled back, and releases the writer and its messages', async () => {
    const { instance, session } = await open();
    await commitOf(session, 'a');
    await session.dequeue('q');
    await session.query('CREATE TABLE made (a)');
    await session.query(insert, [1, 1]);
    session.enqueue('q', { payload: 'never' });
    await session.rollback();
    expect(await rowsOf(instance)).toEqual([]);
    await expect(session.query('SELECT * FROM made')).rejects.toThrow(code('SQL_INVALID'));
    await session.rollback();
    expect(text(await session.dequeue('q', { max: 9 }))).toEqual(['a']);
  });

  it('continues after a failed statement, of which only the changes are undone', async () => {
    const { instance, session } = await open();
    await session.query(insert, [1, 1]);
    await expect(session.query('INSERT INTO item (id, stock) VALUES (2, 1), (3, -1)')).rejects.toThrow(
      code('SQL_FAILED'),
    );
    await expect(session.query('CREATE TABLE partition_99 (a)')).rejects.toThrow(code('SQL_REFUSED'));
    await expect(session.query('DELETE FROM meta')).rejects.toThrow(code('SQL_REFUSED'));
    await expect(session.query('COMMIT')).rejects.toThrow(code('SQL_REFUSED'));
    await session.query(insert, [4, 1]);
    await commitOf(session, 'a');
    expect((await rowsOf(instance)).map(({ id }) => id)).toEqual([1, 4]);
  });

  it('is rolled back as a whole if a receipt is stale', async () => {
    const { instance, session } = await open();
    await commitOf(session, 'a');
    const [message] = await session.receive('q');
    await session.release('q', [message!.receipt]);
    await session.query(insert, [1, 1]);
    session.acknowledge('q', [message!.receipt]);
    await expect(session.commit()).rejects.toThrow(code('RECEIPT_STALE'));
    expect(await rowsOf(instance)).toEqual([]);
  });

  it('refuses calls that would wait for its own reservation, and staged statements', async () => {
    const { session } = await open();
    await session.query('SELECT 1');
    await expect(session.dequeue('q')).rejects.toThrow(code('WRITER_RESERVED', { call: 'dequeue' }));
    await expect(session.receive('q')).rejects.toThrow(code('WRITER_RESERVED'));
    await expect(session.release('q', [])).rejects.toThrow(code('WRITER_RESERVED'));
    await expect(session.enqueueStream('q', { payload: Readable.from([]) })).rejects.toThrow(
      code('WRITER_RESERVED'),
    );
    expect(() => session.execute('SELECT 1')).toThrow(code('WRITER_RESERVED'));
    await session.rollback();
    session.execute('SELECT 1');
    await expect(session.query('SELECT 1')).rejects.toThrow(code('SQL_REFUSED'));
  });

  it('cannot write to another file', async () => {
    const { instance, session } = await open();
    await instance.createQueue({ name: 'jobs', kind: 'unsharded' });
    session.enqueue('jobs', { payload: 'a' });
    await expect(session.query('SELECT 1')).rejects.toThrow(code('TX_SPANS_FILES'));
  });

  it('has a bounded time to hold the writer', async () => {
    for (const writerReservationMsMax of [0, 10_001, Number.NaN]) {
      await expect(open({ writerReservationMsMax })).rejects.toThrow(code('OPTIONS_INVALID'));
    }
  });

  it('is refused for sessions of another process', async () => {
    const { instance } = await open();
    const remote = (await openTestClient(instance)).openSession();
    await expect(remote.query('SELECT 1')).rejects.toThrow(code('QUERY_UNSUPPORTED'));
  });
});

describe('while a session has reserved the writer', () => {
  it('other commits wait, their waits are counted, and they share its group', async () => {
    const { instance, session } = await open();
    const others = [instance.openSession(), instance.openSession()];
    await session.query(insert, [1, 1]);
    const before = reservationWaitsOf(instance);
    const { groups } = instance.stats();
    const commits = others.map((other, index) => commitOf(other, `${index}`));
    expect(await session.query('SELECT count(*) AS items FROM item')).toMatchObject({ rows: [{ items: 1 }] });
    expect(instance.queue('q').ready).toBe(0);
    await commitOf(session, 'first');
    await Promise.all(commits);
    expect(instance.stats().groups).toBe(groups + 1);
    expect(reservationWaitsOf(instance)).toBe(before + 2);
    expect(instance.queue('q').ready).toBe(3);
  });

  it('other sessions wait for it, and reserve it in the order of their requests', async () => {
    const { instance } = await open();
    const order: number[] = [];
    const work = async (index: number) => {
      const session = instance.openSession();
      const { rows } = await session.query('SELECT count(*) AS items FROM item');
      await session.query(insert, [index, Number(rows[0]!.items)]);
      order.push(index);
      await (index % 2 === 0 ? session.rollback() : commitOf(session, `${index}`));
    };
    await Promise.all([1, 2, 3, 4, 5].map(work));
    expect(order).toEqual([1, 2, 3, 4, 5]);
    expect((await rowsOf(instance)).map(({ stock }) => stock)).toEqual([0, 1, 2]);
  });

  it('an expired reservation is rolled back, and all sessions continue', async () => {
    const { instance, session } = await open({ writerReservationMsMax: 200 });
    await commitOf(session, 'a');
    await session.dequeue('q');
    await session.query(insert, [1, 1]).catch(() => undefined); // On a busy machine the reservation may expire during this query.
    await commitOf(instance.openSession(), 'other'); // This commit waits for the end of the reservation.
    await expect(session.query(insert, [2, 1])).rejects.toThrow(
      code('WRITER_RESERVATION_EXPIRED', { msMax: 200 }),
    );
    session.enqueue('q', { payload: 'never' });
    await expect(session.commit()).rejects.toThrow(code('WRITER_RESERVATION_EXPIRED'));
    expect(await rowsOf(instance)).toEqual([]);
    expect(instance.queue('q')).toMatchObject({ ready: 2, held: 0 });
    session.execute(insert, [3, 1]);
    await commitOf(session, 'after');
    expect((await rowsOf(instance)).map(({ id }) => id)).toEqual([3]);
  });

  it('its session, and the instance, can be closed', async () => {
    const dir = makeFolder();
    const { instance, session } = await open({ dir });
    await session.query(insert, [1, 1]);
    await session.close();
    await commitOf(instance.openSession(), 'after');
    const late = instance.openSession();
    await late.query(insert, [2, 1]);
    await instance.close();
    expect(await rowsOf(await openTestInstance({ dir }))).toEqual([]);
  });

  it('a storage failure rolls it back, and the session continues', async () => {
    const dir = makeFolder();
    const { instance, session } = await open({ dir });
    await whileLocked(dir, async () => {
      await expect(session.query(insert, [1, 1])).rejects.toThrow(code('STORAGE_FAILED'));
      await expect(session.commit()).rejects.toThrow(code('STORAGE_FAILED'));
    });
    await session.query(insert, [2, 1]);
    await commitOf(session, 'after');
    expect((await rowsOf(instance)).map(({ id }) => id)).toEqual([2]);
  });
});
