/** The views in an instance's file, read over a second connection, compared with what the instance reports. */
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Session } from '../../src/index.ts';
import { estimateDrain } from '../../src/model/rate-window.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { InstanceFile, instanceFilePath } from '../../src/storage/instance-file/instance-file.ts';
import { FaultProcess } from '../faults/fault-process.ts';
import { makeFolder, openTestClient, openTestInstance } from '../folder.ts';
import { pick, readView, type ViewRow } from './read-views.ts';

const sampleMs = 10;
/** Samples may be late on a busy machine. */
const until = <T>(read: () => T) => expect.poll(read);

async function put(session: Session, queue: string, count: number) {
  for (let i = 0; i < count; i += 1) session.enqueue(queue, { payload: `message ${i}` });
  await session.commit();
}

describe('the views of an instance', () => {
  it('show the state of its memory while it runs, and the time of the sample', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir, sampleIntervalMs: sampleMs, partitionMessagesMax: 10 });
    await instance.createQueue({ name: 'orders', shards: 2 });
    const before = Date.now();
    const session = instance.openSession();
    await put(session, 'orders', 35);
    await session.dequeue('orders', { max: 12 });
    await session.commit();
    await session.dequeue('orders', { max: 3 });

    const expected = { queue: 'orders', type: 'queue', shards: 2, depth: 23, ready: 20, held: 3, paused: 0 };
    await until(() => readView(dir, 'shardlab_queues')).toMatchObject([
      { ...expected, enqueued: 35, consumed: 12, not_due: 0, before_restart: 0 },
    ]);
    const [row] = readView(dir, 'shardlab_queues');
    expect(row!.as_of_ms).toBeGreaterThanOrEqual(before);
    expect(row!.as_of).toBe(new Date(row!.as_of_ms as number).toISOString());

    const { total, shards, subscribers } = instance.queueStats('orders');
    expect(total).toMatchObject({ depth: 23, ready: 20, held: 3, delayed: 0, enqueued: 35, consumed: 12 });
    expect(readView(dir, 'shardlab_shards')).toMatchObject(
      shards.map(({ shard, depth, enqueued, consumed }) => ({ shard, depth, enqueued, consumed })),
    );
    expect(subscribers.reduce((sum, { dequeued }) => sum + dequeued, 0)).toBe(12);
  });

  it('show partitions by their state, and no figures of a queue that used them before', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir, partitionMessagesMax: 10 });
    await instance.createQueue({ name: 'orders' });
    const session = instance.openSession();
    for (let group = 0; group < 5; group += 1) await put(session, 'orders', 10);
    await session.dequeue('orders', { max: 25 });
    await session.commit();
    await instance.close();
    const states = pick(readView(dir, 'shardlab_partition_states'), 'queue', 'state', 'partitions', 'live');
    expect(states).toEqual(
      expect.arrayContaining([
        { queue: 'orders', state: 'full', partitions: 2, live: 15 },
        { queue: 'orders', state: 'filling', partitions: 1, live: 10 },
        expect.objectContaining({ queue: null, state: 'free', live: null }),
      ]),
    );
  });

  it('follow the consumption of a partition that was full at an earlier sample', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir, sampleIntervalMs: sampleMs, partitionMessagesMax: 10 });
    await instance.createQueue({ name: 'orders' });
    const session = instance.openSession();
    for (let group = 0; group < 3; group += 1) await put(session, 'orders', 10);
    const used = () =>
      pick(readView(dir, 'shardlab_partitions'), 'state', 'messages', 'terminal').filter(
        ({ state }) => state !== 'free',
      );
    const full = { state: 'full', messages: 10, terminal: 0 };
    const filling = { ...full, state: 'filling' };
    await until(used).toEqual([full, full, filling]);
    await session.dequeue('orders', { max: 4 });
    await session.commit();
    await until(used).toEqual([{ ...full, terminal: 4 }, full, filling]);
    await session.dequeue('orders', { max: 8 });
    await session.commit();
    await until(used).toEqual([{ ...full, terminal: 2 }, filling]);
  });

  it('count first deliveries from the cache as hits, and those read from a partition as misses', async () => {
    const dir = makeFolder();
    const payload = 'x'.repeat(10_000);
    const instance = await openTestInstance({ dir, cacheBytesMax: 45_000 });
    await instance.createQueue({ name: 'orders' });
    const session = instance.openSession();
    for (let i = 0; i < 12; i += 1) {
      session.enqueue('orders', { payload });
      await session.commit();
    }
    for (let taken = 0; taken < 12; ) taken += (await session.dequeue('orders', { max: 99 })).length;
    await session.rollback();
    await session.dequeue('orders', { max: 4 }); // These are redeliveries, which count neither as hits nor as misses.
    await session.rollback();
    await instance.close();
    expect(readView(dir, 'shardlab_cache')).toMatchObject([
      { queue: 'orders', shard: 100, hits: 5, misses: 7, evictions: 7, hit_ratio: 5 / 12 },
    ]);
  });

  it('show each subscriber of a topic, and no removed one', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir, sampleIntervalMs: sampleMs });
    await instance.createQueue({ name: 'news', type: 'topic' });
    await instance.subscribe('news', { name: 'a' });
    await instance.subscribe('news', { name: 'b', durable: false });
    const session = instance.openSession();
    await put(session, 'news', 5);
    await session.dequeue('news', { subscriber: 'a', max: 3 });
    await session.commit();
    const rows = () =>
      pick(readView(dir, 'shardlab_subscribers'), 'subscriber', 'durable', 'depth', 'dequeued');
    const a = { subscriber: 'a', durable: 1, depth: 2, dequeued: 3 };
    await until(rows).toEqual([a, { subscriber: 'b', durable: 0, depth: 5, dequeued: 0 }]);
    await instance.unsubscribe('news', 'b');
    await until(rows).toEqual([a]);
    await instance.dropQueue('news');
    await until(rows).toEqual([]);
    expect(readView(dir, 'shardlab_queues')).toEqual([]);
  });

  it('count delayed messages separately from the depth', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'orders' });
    const session = instance.openSession();
    session.enqueue('orders', { payload: 'now' });
    session.enqueue('orders', { payload: 'later', delayMs: 60_000 });
    await session.commit();
    expect(instance.queueStats('orders').total).toMatchObject({ depth: 1, delayed: 1, enqueued: 2 });
    await instance.close();
    expect(readView(dir, 'shardlab_queues')).toMatchObject([{ depth: 1, not_due: 1, enqueued: 1 }]);
  });

  it('mark rows from before a kill and a restart', async () => {
    const dir = makeFolder();
    const worker = new FaultProcess();
    await worker.open({ dir, sampleIntervalMs: sampleMs });
    await worker.create({ name: 'orders' });
    await worker.put('orders', 'a', 'b');
    await until(() => readView(dir, 'shardlab_queues')).toMatchObject([{ depth: 2 }]);
    await worker.kill();
    const left = pick(readView(dir, 'shardlab_queues'), 'depth', 'as_of_ms');

    const file = new InstanceFile(instanceFilePath(dir, 1), nodePorts.clock);
    file.recover();
    file.close();
    expect(readView(dir, 'shardlab_queues')).toMatchObject([{ ...left[0], before_restart: 1 }]);
    expect(readView(dir, 'shardlab_shards')).toMatchObject([{ depth: 2, before_restart: 1 }]);
    expect(readView(dir, 'shardlab_instance')).toMatchObject([{ before_restart: 1 }]);

    const instance = await openTestInstance({ dir });
    await instance.close();
    expect(readView(dir, 'shardlab_queues')).toMatchObject([{ depth: 2, before_restart: 0 }]);
    expect(readView(dir, 'shardlab_instance')).toMatchObject([{ before_restart: 0 }]);
  });

  it('omit queues that were dropped while the instance was closed', async () => {
    const dir = makeFolder();
    const first = await openTestInstance({ dir });
    await first.createQueue({ name: 'orders' });
    await put(first.openSession(), 'orders', 3);
    await first.close();
    const second = await openTestInstance({ dir, instance: 2 });
    await second.dropQueue('orders');
    await second.close();
    expect(readView(dir, 'shardlab_queues')).toHaveLength(1);
    const again = await openTestInstance({ dir });
    await again.close();
    expect(readView(dir, 'shardlab_queues')).toEqual([]);
    expect(readView(dir, 'shardlab_partition_states')).toMatchObject([{ state: 'free' }]);
  });

  it('agree with the statistics returned over a socket', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders' });
    await put(instance.openSession(), 'orders', 3);
    const client = await openTestClient(instance);
    const { asOfMs: _, ...stats } = await client.queueStats('orders');
    expect(stats).toMatchObject({ queue: 'orders', instance: 1, total: { depth: 3, ready: 3 } });
    expect(stats.shards).toMatchObject([{ partitions: { filling: 1 }, cache: { hits: 0 } }]);
  });

  it.each([9, 3_600_001, Number.NaN])('cannot be written every %s ms', async (wrong) => {
    await expect(openTestInstance({ sampleIntervalMs: wrong })).rejects.toThrow(
      'sampleIntervalMs must be 10 to 3600000',
    );
  });
});

describe('rates and the time to drain', () => {
  it('are the same in SQL as in memory', () => {
    const dir = makeFolder();
    new InstanceFile(instanceFilePath(dir, 1), nodePorts.clock).close();
    const db = new Database(instanceFilePath(dir, 1));
    onTestFinished(() => void db.close());
    db.exec("INSERT INTO sample_queue VALUES (1, 1, 0, 'q', 'queue', 'durable')");
    const counts = fc.record({
      backlog: fc.constantFrom(0, 1, 700),
      windowMs: fc.constantFrom(0, 1, 7_300),
      windowIn: fc.nat(3),
      windowOut: fc.nat(3),
    });
    fc.assert(
      fc.property(counts, ({ backlog, ...flow }) => {
        db.exec('DELETE FROM sample_shard');
        db.prepare('INSERT INTO sample_shard VALUES (1, 100, 1, 0, 0, ?, ?, 0, 0, 0, ?, ?, ?)').run(
          backlog,
          backlog,
          flow.windowMs,
          flow.windowIn,
          flow.windowOut,
        );
        const estimate = estimateDrain(backlog, flow);
        for (const view of ['shardlab_shards', 'shardlab_queues']) {
          const row = db.prepare(`SELECT * FROM ${view}`).get() as ViewRow;
          expect(row.drain_state).toBe(estimate.state);
          const figures = [
            'enqueue_per_sec',
            'dequeue_per_sec',
            'drain_ms',
            'drain_ms_without_enqueues',
          ] as const;
          const { enqueuePerSec, dequeuePerSec, drainMs, drainMsWithoutEnqueues } = estimate;
          const expected = [enqueuePerSec, dequeuePerSec, drainMs, drainMsWithoutEnqueues];
          for (const [index, name] of figures.entries()) {
            const value = expected[index]!;
            if (value === null) expect(row[name]).toBeNull();
            else expect(row[name]).toBeCloseTo(value, 6);
          }
        }
      }),
    );
  });
});

describe('the view of the unsharded queues', () => {
  const view = (dir: string) => readView(dir, 'shardlab_queues', 'unsharded.db');

  it('counts the rows of the file, with rates up to now', async () => {
    const dir = makeFolder();
    const instance = await openTestInstance({ dir });
    await instance.createQueue({ name: 'jobs', kind: 'unsharded' });
    const session = instance.openSession();
    await put(session, 'jobs', 10);
    await session.dequeue('jobs', { max: 4 });
    await session.commit();
    await session.dequeue('jobs', { max: 2 });
    const [row] = view(dir);
    expect(row).toMatchObject({ queue: 'jobs', depth: 6, ready: 4, held: 2, enqueued: 10, consumed: 4 });
    expect(row!.drain_state).toBe('growing');
    const { total, shards } = instance.queueStats('jobs');
    expect(total).toMatchObject({
      depth: 6,
      ready: 4,
      held: 2,
      enqueued: 10,
      consumed: 4,
      drainState: 'growing',
    });
    expect(shards).toEqual([]);
    await instance.dropQueue('jobs');
    expect(view(dir)).toEqual([]);
  });
});
