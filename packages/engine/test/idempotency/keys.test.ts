/** Idempotency keys of sessions in the instance's process: for each key a transaction is committed once. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Instance, openInstance, type Session } from '../../src/index.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';

const code = (value: string) => expect.objectContaining({ code: value });
const hour = 60 * 60_000;

async function withQueue(): Promise<Instance> {
  const instance = await openTestInstance({ writerReservationMsMax: 10_000 }); // Long enough for a busy machine.
  await instance.createQueue({ name: 'q' });
  return instance;
}

/** Commits in a session of its own, like a retry by another client. */
async function enqueueOnce(
  instance: Pick<Instance, 'openSession'>,
  idempotencyKey: string,
  ...payloads: string[]
) {
  const session = instance.openSession();
  for (const payload of payloads) session.enqueue('q', { payload });
  const committed = await session.commit({ idempotencyKey });
  await session.close();
  return committed;
}

const enqueuedOf = (instance: Instance) => instance.queue('q').enqueued;

describe('a transaction with an idempotency key', () => {
  it('is committed once: a repeat gets the ids of the first commit, and is marked as replayed', async () => {
    const instance = await withQueue();
    const first = await enqueueOnce(instance, 'k', 'a', 'b');
    expect(first).toMatchObject({ replayed: false, results: [] });
    expect(first.ids).toHaveLength(2);
    const again = await enqueueOnce(instance, 'k', 'a', 'b');
    expect(again).toMatchObject({ replayed: true, results: [] });
    expect(again.ids).toEqual(first.ids);
    expect(enqueuedOf(instance)).toBe(2);
    expect((await enqueueOnce(instance, 'K', 'a', 'b')).replayed).toBe(false);
    expect(enqueuedOf(instance)).toBe(4);
  });

  it('is refused under the key of a transaction that differs in any part', async () => {
    const instance = await withQueue();
    await instance.createQueue({ name: 'p', priorities: true });
    const stages: ((session: Session) => void)[] = [
      (session) => session.enqueue('p', { payload: 'a' }),
      (session) => session.enqueue('q', { payload: 'a' }),
      (session) => session.enqueue('q', { payload: 'b' }),
      (session) => session.enqueue('q', { payload: 'a', correlationId: 'c' }),
      (session) => session.enqueue('q', { payload: 'a', groupKey: 'c' }),
      (session) => session.enqueue('q', { payload: 'a', properties: { c: 'd' } }),
      (session) => session.enqueue('q', { payload: 'a', properties: { c: 'e' } }),
      (session) => session.enqueue('q', { payload: 'a', delayMs: hour }),
      (session) => session.enqueue('q', { payload: 'a', delayMs: 2 * hour }),
      (session) => session.enqueue('p', { payload: 'a', priority: 1 }),
      (session) => session.enqueue('p', { payload: 'a', priority: 2 }),
      (session) => {
        session.enqueue('q', { payload: 'a' });
        session.enqueue('q', { payload: 'b' });
      },
      (session) => {
        session.enqueue('q', { payload: 'b' });
        session.enqueue('q', { payload: 'a' });
      },
      (session) => {
        session.enqueue('q', { payload: 'a' });
        session.execute('SELECT 1');
      },
      (session) => session.execute('SELECT 1'),
      (session) => session.execute('SELECT ?', [1]),
      (session) => session.execute('SELECT ?', ['1']),
      (session) => session.execute('SELECT ?', [Buffer.from('1')]),
      (session) => session.execute('SELECT ?', [null]),
    ];
    const session = instance.openSession();
    for (const [index, stage] of stages.entries()) {
      stage(session);
      expect((await session.commit({ idempotencyKey: `key ${index}` })).replayed).toBe(false);
      for (const [other, stageOther] of stages.entries()) {
        if (other === index) continue;
        stageOther(session);
        await expect(
          session.commit({ idempotencyKey: `key ${index}` }),
          `${index}, ${other}`,
        ).rejects.toThrow(
          expect.objectContaining({
            code: 'IDEMPOTENCY_KEY_REUSED',
            retryable: false,
            details: { idempotencyKey: `key ${index}` },
          }),
        );
      }
      stage(session);
      expect((await session.commit({ idempotencyKey: `key ${index}` })).replayed).toBe(true);
    }
  });

  it('is recognised with messages of all kinds and sizes, from a session on another shard', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q', shards: 4, priorities: true });
    const big = 'x'.repeat(100_000);
    const commit = async (session: Session) => {
      for (let index = 0; index < 40; index += 1) {
        session.enqueue('q', { payload: big, correlationId: `${index}`, priority: index % 3 });
        session.enqueue('q', { payload: 'later', delayMs: hour, groupKey: `${index % 5}` });
      }
      return session.commit({ idempotencyKey: 'k' });
    };
    const sessions = Array.from({ length: 4 }, () => instance.openSession());
    const first = await commit(sessions[0]!);
    for (const session of sessions) {
      const again = await commit(session);
      expect(again).toMatchObject({ replayed: true });
      expect(again.ids).toEqual(first.ids);
    }
    expect(enqueuedOf(instance)).toBe(80);
  });

  it('is known for a day, also after a restart', async () => {
    const dir = makeFolder();
    const opened = await openInstance({ dir });
    await opened.createQueue({ name: 'q' });
    const { ids } = await enqueueOnce(opened, 'k', 'a');
    await opened.close();
    const at = async (ms: number) => {
      vi.spyOn(nodePorts.clock, 'epochMs').mockImplementation(() => Date.now() + ms);
      onTestFinished(() => void vi.restoreAllMocks());
      const instance = await openInstance({ dir });
      const committed = await enqueueOnce(instance, 'k', 'a');
      const enqueued = (await instance.browse('q')).messages.length;
      await instance.close();
      return { ids: committed.ids, replayed: committed.replayed, enqueued };
    };
    expect(await at(0)).toEqual({ ids, replayed: true, enqueued: 1 });
    expect(await at(23 * hour)).toEqual({ ids, replayed: true, enqueued: 1 });
    expect(await at(25 * hour)).toMatchObject({ replayed: false, enqueued: 2 });
    expect(await at(47 * hour)).toMatchObject({ replayed: true, enqueued: 2 });
  });

  it('is committed by exactly one of many concurrent sessions', async () => {
    const instance = await withQueue();
    const commits = await Promise.all(Array.from({ length: 20 }, () => enqueueOnce(instance, 'k', 'a', 'b')));
    expect(commits.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(new Set(commits.map(({ ids }) => ids.join())).size).toBe(1);
    expect(enqueuedOf(instance)).toBe(2);
    const mixed = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => enqueueOnce(instance, 'l', index % 2 ? 'a' : 'b')),
    );
    expect(mixed.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(enqueuedOf(instance)).toBe(3);
  });

  it('leaves the key free if it fails, and the next waiting session commits', async () => {
    const instance = await withQueue();
    const setUp = instance.openSession();
    setUp.execute('CREATE TABLE item (name TEXT UNIQUE)');
    setUp.execute("INSERT INTO item VALUES ('taken')");
    await setUp.commit();
    const insert = async (name: string) => {
      const session = instance.openSession();
      session.execute('INSERT INTO item VALUES (?)', [name]);
      session.enqueue('q', { payload: name });
      return session.commit({ idempotencyKey: 'k' });
    };
    const [failed, next, other] = await Promise.allSettled([insert('taken'), insert('new'), insert('taken')]);
    expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'SQL_FAILED' } });
    expect(next).toMatchObject({ status: 'fulfilled', value: { replayed: false } });
    expect(other).toMatchObject({ status: 'rejected', reason: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect(enqueuedOf(instance)).toBe(1);
  });

  it('runs its statements once; a repeat does not have their results', async () => {
    const instance = await withQueue();
    const commit = () => {
      const session = instance.openSession();
      session.execute('CREATE TABLE IF NOT EXISTS item (number INTEGER)');
      session.execute('INSERT INTO item VALUES (?) RETURNING number', [7]);
      session.enqueue('q', { payload: 'a' });
      return session.commit({ idempotencyKey: 'k' });
    };
    const first = await commit();
    expect(first.results[1]!.rows).toEqual([{ number: 7 }]);
    const again = await commit();
    expect(again.replayed).toBe(true);
    expect(again.ids).toEqual(first.ids);
    expect(() => again.results).toThrow(code('SQL_RESULTS_LOST'));
    const count = instance.openSession();
    count.execute('SELECT count(*) AS items FROM item');
    expect((await count.commit()).results[0]!.rows).toEqual([{ items: 1 }]);
  });

  it('acknowledges its receipts once: a repeat is accepted with them though stale, another transaction is refused', async () => {
    const instance = await withQueue();
    await enqueueOnce(instance, 'first', 'in', 'in');
    const [one, two] = await instance.openSession().receive('q', { max: 2 });
    const move = (receipt: string, idempotencyKey: string) => {
      const session = instance.openSession();
      session.acknowledge('q', [receipt]);
      session.enqueue('q', { payload: 'out' });
      return session.commit({ idempotencyKey });
    };
    const moved = await move(one!.receipt, 'k');
    const again = await move(one!.receipt, 'k');
    expect(again).toMatchObject({ replayed: true });
    expect(again.ids).toEqual(moved.ids);
    await expect(move(two!.receipt, 'k')).rejects.toThrow(code('IDEMPOTENCY_KEY_REUSED'));
    await expect(move(one!.receipt, 'other')).rejects.toThrow(code('RECEIPT_STALE'));
    expect((await move(two!.receipt, 'other')).replayed).toBe(false);
    expect(instance.queue('q')).toMatchObject({ enqueued: 4, consumed: 2, held: 0 });
  });

  it('is refused as a whole if it has work of which a repeat could not be recognised', async () => {
    const instance = await withQueue();
    await instance.createQueue({ name: 'memory', durability: 'memory' });
    await instance.createQueue({ name: 'unsharded', kind: 'unsharded' });
    await enqueueOnce(instance, 'a', 'a');
    const stages: ((session: Session) => unknown)[] = [
      (session) => session.dequeue('q'),
      (session) => session.enqueue('memory', { payload: 'a' }),
      (session) => session.enqueue('unsharded', { payload: 'a' }),
      (session) => session.query('SELECT 1'),
    ];
    for (const [index, stage] of stages.entries()) {
      const session = instance.openSession();
      await stage(session);
      await expect(session.commit({ idempotencyKey: 'k' }), `${index}`).rejects.toThrow(
        code('IDEMPOTENCY_KEY_UNSUPPORTED'),
      );
      expect(await session.commit()).toMatchObject({ ids: [] });
    }
    for (const queue of ['memory', 'unsharded']) expect(instance.queue(queue).enqueued).toBe(0);
    expect(text(await instance.openSession().dequeue('q', { max: 10 }))).toEqual(['a']);
  });

  it.each([[''], ['x'.repeat(201)], ['ä'], ['a\nb'], [7 as unknown as string]])(
    'is refused with the invalid key %j, and stays open',
    async (idempotencyKey) => {
      const instance = await withQueue();
      const session = instance.openSession();
      session.enqueue('q', { payload: 'a' });
      await expect(session.commit({ idempotencyKey })).rejects.toThrow(code('OPTIONS_INVALID'));
      expect((await session.commit({ idempotencyKey: ' ~'.repeat(100) })).ids).toHaveLength(1);
    },
  );

  it('is remembered if its queue is relaxed, and after its queue was dropped', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q', durability: 'relaxed' });
    await enqueueOnce(instance, 'k', 'a');
    expect((await enqueueOnce(instance, 'k', 'a')).replayed).toBe(true);
    await instance.dropQueue('q');
    await expect(enqueueOnce(instance, 'k', 'a')).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    await instance.createQueue({ name: 'q' });
    await expect(enqueueOnce(instance, 'k', 'a')).rejects.toThrow(code('IDEMPOTENCY_KEY_REUSED'));
  });
});
