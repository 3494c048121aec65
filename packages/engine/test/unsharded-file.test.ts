/** The rows of the unsharded queues: which messages are delivered, and the cost of finding them. */
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { nodePorts } from '../src/node-ports.ts';
import { DeliveryTable } from '../src/storage/unsharded/delivery-table.ts';
import { RecentRecords } from '../src/storage/unsharded/recent-records.ts';
import { UnshardedFile, unshardedPath } from '../src/storage/unsharded/unsharded-file.ts';
import { findUnshardedFaults } from '../src/storage/unsharded/unsharded-integrity.ts';
import { makeFolder } from './folder.ts';

function setUp() {
  const dir = makeFolder();
  const open = () => {
    const queues = [
      { queueId: 1, name: 'one' },
      { queueId: 2, name: 'two' },
    ];
    const file = new UnshardedFile(dir, {
      queues: () => queues,
      queueById: (queueId) => queues.find((queue) => queue.queueId === queueId),
      onFailed: (error) => {
        throw error;
      },
      ports: nodePorts,
    });
    onTestFinished(() => file.close());
    return file;
  };
  const file = open();
  const enqueue = (queueId: number, count: number) =>
    file.commit({
      enqueued: Array.from({ length: count }, (_, index) => ({ queueId, record: Buffer.from([index]) })),
      consumed: [],
      sync: 'FULL',
    });
  const idsOf = (rows: { id: number }[]) => rows.map(({ id }) => id);
  return { dir, file, open, enqueue, idsOf };
}

describe('the file of the unsharded queues', () => {
  it('numbers messages in commit order over all queues, and delivers each from its own queue', () => {
    const { file, enqueue, idsOf } = setUp();
    expect(enqueue(1, 2)).toEqual([{ shard: 0, firstSeq: 1, count: 2 }]);
    expect(enqueue(2, 40)).toEqual([{ shard: 0, firstSeq: 3, count: 40 }]);
    expect(enqueue(1, 1)).toEqual([{ shard: 0, firstSeq: 43, count: 1 }]);
    expect(idsOf(file.claim({ queueId: 1, subscriber: 0 }, { max: 10 }))).toEqual([1, 2, 43]);
    expect(file.hasReady({ queueId: 1, subscriber: 0 })).toBe(false);
    expect(file.claim({ queueId: 2, subscriber: 0 }, { max: 40 }).map(({ record }) => record[0])).toEqual(
      Array.from({ length: 40 }, (_, i) => i),
    );
  });

  it('never reuses the number of a consumed message', () => {
    const { file, enqueue } = setUp();
    enqueue(1, 3);
    const consumed = file
      .claim({ queueId: 1, subscriber: 0 }, { max: 3 })
      .map(({ id, crc }) => ({ queueId: 1, id, crc }));
    file.commit({ enqueued: [], consumed, sync: 'FULL' });
    expect(file.counts(1)).toEqual({ enqueued: 3, consumed: 3, held: 0, ready: 0 });
    expect(enqueue(1, 1)).toEqual([{ shard: 0, firstSeq: 4, count: 1 }]);
  });

  it('delivers returned messages first, with their delivery count, to whichever process dequeues', () => {
    const { file, open, enqueue, idsOf } = setUp();
    const other = open();
    enqueue(1, 6);
    expect(idsOf(file.claim({ queueId: 1, subscriber: 0 }, { max: 2 }))).toEqual([1, 2]);
    expect(idsOf(other.claim({ queueId: 1, subscriber: 0 }, { max: 2 }))).toEqual([3, 4]);
    file.release([{ queueId: 1, id: 2 }], 'NORMAL');
    other.release([{ queueId: 1, id: 3 }], 'NORMAL');
    expect(
      other
        .claim({ queueId: 1, subscriber: 0 }, { max: 3 })
        .map(({ id, deliveryCount }) => [id, deliveryCount]),
    ).toEqual([
      [2, 2],
      [3, 2],
      [5, 1],
    ]);
    expect(idsOf(file.claim({ queueId: 1, subscriber: 0 }, { max: 9 }))).toEqual([6]);
    expect(file.counts(1)).toEqual({ enqueued: 6, consumed: 0, held: 6, ready: 0 });
  });

  it('commits nothing of a transaction that consumes a message which its process does not hold', () => {
    const { file, open, enqueue } = setUp();
    enqueue(1, 4);
    const rows = [
      ...file.claim({ queueId: 1, subscriber: 0 }, { max: 2 }),
      ...open().claim({ queueId: 1, subscriber: 0 }, { max: 2 }),
    ];
    const consumed = rows.slice(1, 3).map(({ id, crc }) => ({ queueId: 1, id, crc }));
    const enqueued = [{ queueId: 1, record: Buffer.from('new') }];
    expect(() => file.commit({ enqueued, consumed, sync: 'FULL' })).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED' }),
    );
    expect(file.counts(1)).toEqual({ enqueued: 4, consumed: 0, held: 4, ready: 0 });
    file.commit({ enqueued, consumed: consumed.slice(0, 1), sync: 'FULL' });
    expect(file.counts(1)).toEqual({ enqueued: 5, consumed: 1, held: 3, ready: 1 });
  });

  it('finds the next message by indexes only, however many are held', () => {
    const { dir, file, enqueue } = setUp();
    enqueue(1, 1);
    file.claim({ queueId: 1, subscriber: 0 }, { max: 1 });
    const database = new Database(unshardedPath(dir), { readonly: true });
    onTestFinished(() => void database.close());
    const plans: string[] = [];
    const explained = {
      prepare(sql: string) {
        const steps = database
          .prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .all(...Array(sql.split('?').length - 1).fill(1)) as { detail: string }[];
        if (sql.startsWith('SELECT') && !sql.includes('count(*)'))
          plans.push(...steps.map(({ detail }) => detail));
        return database.prepare(sql.startsWith('SELECT') ? sql : 'SELECT 1');
      },
    };
    new DeliveryTable(explained as unknown as Database.Database, new RecentRecords());
    expect(plans).toHaveLength(7);
    for (const plan of plans) expect(plan).toMatch(/^SEARCH .* USING .*(INDEX|PRIMARY KEY)/);
  });

  it('gives a message to as many subscribers as a topic can have, and deletes it with the last of them', () => {
    const { file } = setUp();
    const subscribers = Array.from({ length: limits.subscribersMax }, (_, index) => ({
      id: index + 1,
      name: `s${index}`,
      durable: true,
    }));
    file.changeSubscribers(1, subscribers, []);
    const routing = { rank: 9, recipients: undefined, createsTemporary: false };
    const enqueued = [{ queueId: 1, record: Buffer.from('a'), routing }];
    const tooMany = Array(1_000).fill(enqueued[0]!);
    expect(() => file.commit({ enqueued: tooMany, consumed: [], sync: 'FULL' })).toThrow(
      expect.objectContaining({ code: 'TX_TOO_LARGE' }),
    );
    expect(file.countStored(1)).toBe(0);
    file.commit({ enqueued, consumed: [], sync: 'FULL' });
    const consumed = subscribers.flatMap(({ id }) =>
      file.claim({ queueId: 1, subscriber: id }, { max: 9 }).map((row) => ({ queueId: 1, ...row })),
    );
    expect(consumed).toHaveLength(limits.subscribersMax);
    file.commit({ enqueued: [], consumed: consumed.slice(1), sync: 'FULL' });
    expect(file.counts(1, 'topic')).toEqual({ enqueued: 1, consumed: 0, held: 1, ready: 1 });
    file.commit({ enqueued: [], consumed: consumed.slice(0, 1), sync: 'FULL' });
    expect(file.counts(1, 'topic')).toEqual({ enqueued: 1, consumed: 1, held: 0, ready: 0 });
    expect(file.countStored(1)).toBe(0);
  });

  it('deletes the subscribers of topics that are no longer in the catalog', () => {
    const { dir, file, open } = setUp();
    const subscriber = { id: 7, name: 'one', durable: true };
    file.changeSubscribers(2, [subscriber], []);
    file.changeSubscribers(3, [{ ...subscriber, id: 8 }], []);
    expect(open().storedSubscribers(2)).toEqual([{ ...subscriber, ended: false }]);
    expect(file.storedSubscribers(3)).toEqual([]);
    expect(findUnshardedFaults(unshardedPath(dir))).toEqual([]);
  });
});
