/** Statements that SQLite would run for hours are killed with their process, and the queues continue. */
import { describe, expect, it } from 'vitest';
import type { Instance, Session } from '../../src/index.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { code, openApplication, rowsOf, run } from './application.ts';

const tables = Array.from({ length: 13 }, (_, index) => `a b${index}`);
const tensSql = 'WITH a(x) AS (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10))';
/** Counts 10^14 rows before it returns one. */
const endlessSql = `${tensSql} SELECT count(*) FROM a, ${tables.join(', ')}`;
const insertSql = 'INSERT INTO item (id, stock) VALUES (?, ?)';

const tooSlow = code('SQL_TOO_SLOW', { msMax: 1_000, statement: 0 });

function commitOf(session: Session, payload: string) {
  session.enqueue('q', { payload });
  return session.commit();
}

/** Repeats a statement until it is fast enough, since on a busy machine any statement may exceed the limit of elapsed time. */
async function untilInTime(statement: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await statement();
      return;
    } catch (error) {
      expect(error).toEqual(tooSlow);
    }
  }
}

async function payloadsOf(instance: Instance): Promise<string[]> {
  const consumer = instance.openSession();
  const found: string[] = [];
  while (instance.queue('q').ready > 0) found.push(...text(await consumer.dequeue('q', { max: 99 })));
  await consumer.commit();
  await consumer.close();
  return found;
}

describe('a statement that does not end', () => {
  it('fails with its transaction, and all others of its group commit exactly once', async () => {
    const dir = makeFolder();
    // Samples of the engine, which are groups too, are turned off.
    const { instance } = await openApplication({ dir, partitionMessagesMax: 4, sampleIntervalMs: 3_600_000 });
    const sessions = Array.from({ length: 11 }, () => instance.openSession());
    for (const [index, session] of sessions.entries()) {
      session.enqueue('q', { payload: `${index}` });
      if (index % 2 === 1) session.execute(insertSql, [index, 1]);
    }
    sessions[5]!.execute(endlessSql);
    const { groups } = instance.stats();
    const ended = await Promise.allSettled(sessions.map((session) => session.commit()));
    const slow = code('SQL_TOO_SLOW', { msMax: 1_000, statement: 1 });
    expect(ended[5]).toMatchObject({ status: 'rejected', reason: slow });
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(instance.stats().groups).toBe(groups + 1);
    await instance.close();

    const again = await openTestInstance({ dir, partitionMessagesMax: 4 });
    expect(again.queue('q')).toMatchObject({ enqueued: 10, ready: 10 });
    expect((await rowsOf(again)).map(({ id }) => id)).toEqual([1, 3, 7, 9]);
    expect(await payloadsOf(again)).toEqual(['0', '1', '2', '3', '4', '6', '7', '8', '9', '10']);
    expect(again.queue('q')).toMatchObject({ consumed: 10, ready: 0 });
  });

  it('is one of at most two that a group waits for: others are not run and can be retried', async () => {
    const { instance } = await openApplication();
    const sessions = Array.from({ length: 4 }, () => instance.openSession());
    for (const session of sessions) session.execute(endlessSql);
    const ended = Promise.allSettled(sessions.map((session) => session.commit()));
    await commitOf(instance.openSession(), 'a');
    const reasons = (await ended).map((each) => (each as PromiseRejectedResult).reason);
    expect(reasons.map((reason) => reason.code)).toEqual([
      'SQL_TOO_SLOW',
      'SQL_TOO_SLOW',
      'SQL_NOT_RUN',
      'SQL_NOT_RUN',
    ]);
    expect(reasons.map(({ retryable }) => retryable)).toEqual([false, false, true, true]);
    expect(instance.queue('q').ready).toBe(1);
  });

  it('can be the first statement of the instance, and be repeated', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    const session = instance.openSession();
    await commitOf(session, '0');
    for (const payload of ['1', '2']) {
      expect(text(await session.dequeue('q'))).toEqual(['0']); // The failed transaction returns the message.
      session.execute(endlessSql);
      const slow = session.commit();
      const other = commitOf(instance.openSession(), payload); // This commit is behind the slow one.
      await expect(slow).rejects.toThrow(tooSlow);
      await other;
    }
    expect(await payloadsOf(instance)).toEqual(['0', '1', '2']);
    expect((await run(session, 'SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('is killed while SQLite compiles it', async () => {
    const { instance, session } = await openApplication();
    // In each of 30 parts the planner tries 40 indexes of 40 columns for each of 16 tables that are joined by 60 columns, which
    // takes 0.3 s on a fast machine.
    const columns = Array.from({ length: 60 }, (_, index) => `c${index}`);
    await untilInTime(() => run(session, `CREATE TABLE wide (${columns.join(', ')})`));
    for (let index = 0; index < 40; index += 1) {
      const indexed = columns.map((_, at) => columns[(index + 7 * at) % 60]).slice(0, 40);
      await untilInTime(() => run(session, `CREATE INDEX wide${index} ON wide (${indexed.join(', ')})`));
    }
    const joined = Array.from({ length: 16 }, (_, index) => `wide t${index}`).join(' NATURAL JOIN ');
    const parts = Array.from({ length: 30 }, () => `SELECT count(*) FROM ${joined}`);
    session.execute(parts.join(' UNION ALL '));
    await expect(session.commit()).rejects.toThrow(tooSlow);
    await commitOf(session, 'after');
    expect(instance.queue('q').ready).toBe(1);
  });

  it('does not keep the instance from closing', async () => {
    const dir = makeFolder();
    const { instance } = await openApplication({ dir });
    const session = instance.openSession();
    session.execute(endlessSql);
    const slow = expect(session.commit()).rejects.toThrow(tooSlow);
    await instance.close();
    await slow;
    expect(await rowsOf(await openTestInstance({ dir }))).toEqual([]);
  });

  it('takes no more memory than its limit', async () => {
    const { instance, session } = await openApplication();
    session.execute("SELECT length(zeroblob(500000000) || 'a')");
    // On a busy machine it may exceed its time before its memory.
    const ended = code(expect.stringMatching(/^SQL_TOO_(LARGE|SLOW)$/), { statement: 0 });
    await expect(session.commit()).rejects.toThrow(ended);
    await commitOf(session, 'after');
    expect(instance.queue('q').ready).toBe(1);
  });
});

describe('a query that does not end', () => {
  it('ends its transaction and reservation, and all sessions continue', async () => {
    const { instance, session } = await openApplication({ writerReservationMsMax: 10_000 });
    await session.query(insertSql, [1, 1]);
    const other = commitOf(instance.openSession(), 'other');
    await expect(session.query(endlessSql)).rejects.toThrow(tooSlow);
    await other;
    await expect(session.query('SELECT 1')).rejects.toThrow(tooSlow);
    await expect(session.commit()).rejects.toThrow(tooSlow);
    await session.query(insertSql, [2, 1]);
    await commitOf(session, 'after');
    expect((await rowsOf(instance)).map(({ id }) => id)).toEqual([2]);
    expect(await payloadsOf(instance)).toEqual(['other', 'after']);
  });

  it('ends its transaction also if it returns rows all the time', async () => {
    const { instance, session } = await openApplication({ writerReservationMsMax: 10_000 });
    await session.query(insertSql, [1, 1]);
    // Each of the hundred rows takes some ten ms. The time is checked between rows, so no process is killed.
    const rows = '(SELECT count(*) FROM a b, a c, a d, a e, a f, a g WHERE b.x + y.x > 0)';
    const slow = session.query(`${tensSql} SELECT ${rows} FROM a y, a z`);
    await expect(slow).rejects.toThrow(tooSlow);
    await expect(session.commit()).rejects.toThrow(tooSlow);
    expect(await rowsOf(instance)).toEqual([]);
  });

  it('does not undo a reserved transaction that commits in the same group', async () => {
    const { instance, session } = await openApplication({ writerReservationMsMax: 10_000 });
    await session.query(insertSql, [1, 1]);
    const staged = instance.openSession();
    staged.execute(endlessSql);
    const slow = expect(staged.commit()).rejects.toThrow(tooSlow);
    await commitOf(session, 'reserved');
    await slow;
    expect((await rowsOf(instance)).map(({ id }) => id)).toEqual([1]);
  });
});
