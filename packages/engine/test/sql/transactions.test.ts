/** Rows and messages commit together or not at all, and a failing transaction does not affect others of its group. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { Instance, Session } from '../../src/index.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { whileLocked } from '../while-locked.ts';
import { code, openApplication, rowsOf, run } from './application.ts';

const insert = (session: Session, id: number, stock = 1) =>
  session.execute('INSERT INTO item (id, stock) VALUES (?, ?)', [id, stock]);

const idsOf = async (instance: Instance) => (await rowsOf(instance)).map(({ id }) => id);

/** Commits all sessions in the same turn of the event loop, and so in one group. */
const together = (...sessions: Session[]) =>
  Promise.allSettled(sessions.map((session) => session.commit())).then((ended) =>
    ended.map(({ status }) => status),
  );

describe('a group with transactions of which some fail', () => {
  it('stores the rows and messages of the others only, in order, also after a reopen', async () => {
    const dir = makeFolder();
    const { instance } = await openApplication({ dir, partitionMessagesMax: 3 });
    const sessions = Array.from({ length: 6 }, () => instance.openSession());
    const { groups } = instance.stats();
    for (const [index, session] of sessions.entries()) {
      session.enqueue('q', { payload: `${index}a` });
      if (index % 3 > 0) insert(session, index, index % 3 === 1 ? 1 : -1); // 1 and 4 succeed, 2 and 5 fail.
      session.enqueue('q', { payload: `${index}b` });
    }
    expect(await together(...sessions)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'rejected',
    ]);
    expect(instance.stats().groups).toBe(groups + 1);
    const expected = ['0a', '0b', '1a', '1b', '3a', '3b', '4a', '4b'];
    expect(instance.queue('q')).toMatchObject({ enqueued: 8, ready: 8 });
    await instance.close();
    const again = await openTestInstance({ dir, partitionMessagesMax: 3 });
    const consumer = again.openSession();
    const found: string[] = [];
    while (again.queue('q').ready > 0) found.push(...text(await consumer.dequeue('q', { max: 99 })));
    expect(found).toEqual(expected);
    await consumer.commit();
    expect(again.queue('q')).toMatchObject({ enqueued: 8, consumed: 8, ready: 0 });
    expect(await idsOf(again)).toEqual([1, 4]);
  });

  it('returns the messages of a failed transaction, and consumes those of others in the same partition', async () => {
    const dir = makeFolder();
    const { instance } = await openApplication({ dir });
    const feeder = instance.openSession();
    for (const payload of ['a', 'b', 'c', 'd']) feeder.enqueue('q', { payload });
    await feeder.commit();
    const sessions = [0, 1, 2, 3].map(() => instance.openSession());
    for (const [index, session] of sessions.entries()) {
      await session.dequeue('q');
      if (index > 0) insert(session, index, index === 2 ? -1 : 1);
    }
    expect(await together(...sessions)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(instance.queue('q')).toMatchObject({ ready: 1, held: 0, consumed: 3 });
    const file = new Database(join(dir, 'instance-1.db'), { readonly: true });
    expect(file.prepare('SELECT count(*) FROM consumption').pluck().get()).toBe(1);
    file.close();
    await instance.close();
    const again = await openTestInstance({ dir });
    expect(text(await again.openSession().dequeue('q', { max: 9 }))).toEqual(['c']);
  });

  it('does not end the hold of a receipt in a failed one, so that it can be acknowledged again', async () => {
    const { instance, session } = await openApplication();
    session.enqueue('q', { payload: 'a' });
    await session.commit();
    const [message] = await session.receive('q');
    session.acknowledge('q', [message!.receipt]);
    insert(session, 1, -1);
    await expect(session.commit()).rejects.toThrow(code('SQL_FAILED'));
    expect(instance.queue('q')).toMatchObject({ held: 1, consumed: 0 });
    session.acknowledge('q', [message!.receipt]);
    insert(session, 1);
    await session.commit();
    expect(instance.queue('q')).toMatchObject({ held: 0, consumed: 1 });
  });

  it('stores no delayed message of a failed one', async () => {
    const { instance, session } = await openApplication();
    for (const stock of [-1, 1]) {
      session.enqueue('q', { payload: `${stock}`, delayMs: 3_600_000 });
      insert(session, 1, stock);
      await session.commit().catch(() => undefined);
    }
    expect(instance.queue('q')).toMatchObject({ delayed: 1 });
    expect(text((await instance.browse('q')).messages)).toEqual(['1']);
  });

  it('keeps no nonpersistent message of a failed one', async () => {
    const { instance, session } = await openApplication();
    await instance.createQueue({ name: 'fast', durability: 'memory' });
    for (const stock of [-1, 1]) {
      session.enqueue('fast', { payload: `${stock}` });
      insert(session, 1, stock);
      await session.commit().catch(() => undefined);
    }
    expect(text(await session.dequeue('fast', { max: 9 }))).toEqual(['1']);
  });

  it('can consist of failing transactions only', async () => {
    const dir = makeFolder();
    const { instance, session } = await openApplication({ dir });
    for (let index = 0; index < 3; index += 1) {
      session.enqueue('q', { payload: 'never' });
      insert(session, index, -1);
      await expect(session.commit()).rejects.toThrow(code('SQL_FAILED'));
    }
    await instance.close();
    const again = await openTestInstance({ dir });
    expect(again.queue('q')).toMatchObject({ ready: 0, enqueued: 0 });
    const later = again.openSession();
    later.enqueue('q', { payload: 'after' });
    await later.commit();
    expect(text(await later.dequeue('q', { max: 9 }))).toEqual(['after']);
  });

  it('undoes the statements before the failing one, including created tables', async () => {
    const { instance, session } = await openApplication();
    insert(session, 1);
    session.execute('CREATE TABLE made (a)');
    session.execute('INSERT INTO made VALUES (1)');
    insert(session, 1);
    await expect(session.commit()).rejects.toThrow(code('SQL_FAILED', { statement: 3 }));
    expect(await idsOf(instance)).toEqual([]);
    await expect(run(session, 'SELECT * FROM made')).rejects.toThrow(code('SQL_INVALID'));
  });
});

describe('a group that cannot be written', () => {
  it('undoes its transactions with statements, and statements of the next group are checked anew', async () => {
    const dir = makeFolder();
    const { instance, session } = await openApplication({ dir });
    await whileLocked(dir, async () => {
      session.enqueue('q', { payload: 'never' });
      session.execute('CREATE TABLE place (a)');
      session.execute('SELECT * FROM place');
      await expect(session.commit()).rejects.toThrow(code('STORAGE_FAILED'));
    });
    await expect(run(session, 'SELECT * FROM place')).rejects.toThrow(code('SQL_INVALID'));
    session.enqueue('q', { payload: 'after' });
    insert(session, 1);
    await session.commit();
    expect(text(await session.dequeue('q', { max: 9 }))).toEqual(['after']);
    expect(await idsOf(instance)).toEqual([1]);
  });
});

describe('a transaction with statements', () => {
  it('cannot write to another file', async () => {
    const { instance, session } = await openApplication();
    await instance.createQueue({ name: 'jobs', kind: 'unsharded' });
    session.enqueue('jobs', { payload: 'a' });
    expect(() => session.execute('SELECT 1')).toThrow(code('TX_SPANS_FILES'));
    await session.rollback();
    session.execute('SELECT 1');
    expect(() => session.enqueue('jobs', { payload: 'a' })).toThrow(code('TX_SPANS_FILES'));
  });

  it('is undone by a rollback', async () => {
    const { instance, session } = await openApplication();
    insert(session, 1);
    await session.rollback();
    expect((await session.commit()).results).toEqual([]);
    expect(await idsOf(instance)).toEqual([]);
  });

  it('runs only on the SQL instance, which the first statement determines', async () => {
    const dir = makeFolder();
    const { instance } = await openApplication({ dir, instance: 2 });
    const other = await openTestInstance({ dir, instance: 1 });
    expect(() => other.openSession().execute('SELECT 1')).toThrow(
      code('SQL_ELSEWHERE', { sqlInstance: 2, instance: 1 }),
    );
    await instance.close();
    const again = await openTestInstance({ dir, instance: 2 });
    expect(await idsOf(again)).toEqual([]);
    expect(() => other.openSession().execute('SELECT 1')).toThrow(code('SQL_ELSEWHERE'));
  });
});
