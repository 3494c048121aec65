/** Promises of sessions on real servers that the random commands do not test. */
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it, vi } from 'vitest';
import { text } from '../../engine/test/folder.ts';
import type { JetStreamStore } from '../src/index.ts';
import { streamOf } from '../src/stream-names.ts';
import { describeOnServers, type TestServers } from './servers.ts';

const withStore =
  (servers: TestServers, test: (store: JetStreamStore) => Promise<void>, options = {}) =>
  async () => {
    const store = await servers.open(options);
    try {
      await test(store);
    } finally {
      await store.close();
    }
  };
const code = (expected: string) => expect.objectContaining({ code: expected });

describeOnServers('sessions on one server', { servers: 1 }, (servers) => {
  it(
    'enqueue all messages of a transaction or none, in their order',
    withStore(servers, async (store) => {
      await store.createQueue({ name: 'together' });
      const session = store.openSession();
      for (const payload of ['a', 'b', 'c']) session.enqueue('together', { payload });
      expect(await session.dequeue('together', { max: 9 })).toEqual([]);
      const { ids } = await session.commit();
      expect(new Set(ids).size).toBe(3);
      const messages = await session.dequeue('together', { max: 9 });
      expect(text(messages)).toEqual(['a', 'b', 'c']);
      expect(messages.map(({ id }) => id)).toEqual(ids);
      await session.commit();
    }),
  );

  it(
    'keep all fields of a message',
    withStore(servers, async (store) => {
      await store.createQueue({ name: 'fields', shards: 4 });
      const sessions = [store.openSession(), store.openSession()];
      const message = {
        payload: Buffer.from([0, 255, 10, 13]),
        correlationId: 'größe: 1\r\n',
        groupKey: 'customer 7',
        properties: { 'content type': 'x/y', empty: '' },
      };
      for (const session of sessions) {
        session.enqueue('fields', message);
        await session.commit();
      }
      const [first, second] = await sessions[0]!.dequeue('fields', { max: 2 });
      for (const delivered of [first, second]) {
        const { payload, correlationId, groupKey, properties } = delivered!;
        expect({ payload, correlationId, groupKey, properties }).toEqual(message);
      }
      expect(first).toMatchObject({ deliveryCount: 1, payloadBytes: 4, streamed: false, receipt: '' });
      expect(Math.abs(first!.enqueuedAtMs - Date.now())).toBeLessThan(60_000);
      const { messages } = await store.browse('fields', { correlationId: message.correlationId });
      expect(messages.map(({ state }) => state)).toEqual(['held', 'held']);
    }),
  );

  it(
    'commit and dequeue in one call, and dequeue nothing if the commit or the dequeue is refused',
    withStore(servers, async (store) => {
      await store.createQueue({ name: 'both' });
      const session = store.openSession();
      session.enqueue('both', { payload: 'a' });
      await expect(session.commitAndDequeue('both', { max: 0 })).rejects.toThrow(code('OPTIONS_INVALID'));
      expect((await store.browse('both')).messages).toEqual([]);
      const { committed, messages } = await session.commitAndDequeue('both', { waitMs: 20_000 });
      expect(messages.map(({ id }) => id)).toEqual(committed.ids);
      session.enqueue('both', { payload: 'b' });
      await expect(session.commitAndDequeue('both')).rejects.toThrow(code('FEATURE_UNSUPPORTED'));
      expect(text(await session.dequeue('both', { waitMs: 20_000, max: 2 }))).toEqual(['a']);
      await session.commit();
    }),
  );

  it(
    'wait for a message, and stop waiting when the signal aborts',
    withStore(servers, async (store) => {
      await store.createQueue({ name: 'waits' });
      const [consumer, producer] = [store.openSession(), store.openSession()];
      const waiting = consumer.dequeue('waits', { waitMs: 60_000, max: 5 });
      producer.enqueue('waits', { payload: 'late' });
      await producer.commit();
      expect(text(await waiting)).toEqual(['late']);
      await consumer.commit();
      const abort = new AbortController();
      const aborted = consumer.dequeue('waits', { waitMs: 60_000, signal: abort.signal });
      abort.abort();
      expect(await aborted).toEqual([]);
      // A message that arrives after the abort is not held by the aborted request.
      producer.enqueue('waits', { payload: 'next' });
      await producer.commit();
      expect(text(await producer.dequeue('waits', { waitMs: 20_000 }))).toEqual(['next']);
    }),
  );

  it(
    'make received messages ready again when their hold expires, and then refuse the receipt',
    withStore(servers, async (store) => {
      await store.createQueue({ name: 'holds' });
      const [one, other] = [store.openSession(), store.openSession()];
      one.enqueue('holds', { payload: 'once' });
      await one.commit();
      const [received] = await one.receive('holds', { holdMs: 300 });
      expect((await other.messageOfReceipt('holds', received!.receipt)).payload.toString()).toBe('once');
      const [again] = await other.receive('holds', { waitMs: 20_000, holdMs: 60_000 });
      expect(again!.deliveryCount).toBe(2);
      one.acknowledge('holds', [received!.receipt]);
      await expect(one.commit()).rejects.toThrow(code('RECEIPT_STALE'));
      await one.extend('holds', [again!.receipt], 90_000);
      one.acknowledge('holds', [again!.receipt]);
      one.acknowledge('holds', [again!.receipt]);
      await expect(one.commit()).rejects.toThrow(code('RECEIPT_STALE'));
      one.acknowledge('holds', [again!.receipt]);
      await one.commit();
      expect(await store.queue('holds')).toMatchObject({ ready: 0, held: 0, consumed: 1 });
    }),
  );

  it(
    'extend a hold, and release it before its time',
    withStore(servers, async (store) => {
      await store.createQueue({ name: 'extends' });
      const [one, other] = [store.openSession(), store.openSession()];
      one.enqueue('extends', { payload: 'kept' });
      await one.commit();
      const [received] = await one.receive('extends', { holdMs: 1_000 });
      await one.extend('extends', [received!.receipt], 60_000);
      expect(await other.receive('extends', { waitMs: 2_500 })).toEqual([]);
      const waiting = other.receive('extends', { waitMs: 20_000 });
      await one.release('extends', [received!.receipt]);
      const [again] = await waiting;
      expect(again).toMatchObject({ id: received!.id, deliveryCount: 2 });
      for (const call of [
        () => one.extend('extends', [received!.receipt], 60_000),
        () => one.release('extends', [received!.receipt]),
      ])
        await expect(call()).rejects.toThrow(code('RECEIPT_STALE'));
      other.acknowledge('extends', [again!.receipt]);
      await other.commit();
    }),
  );

  it(
    'deliver the messages of a group key in commit order, even if several sessions enqueue them',
    withStore(servers, async (store) => {
      await store.createQueue({ name: 'groups', shards: 4 });
      const producers = [store.openSession(), store.openSession(), store.openSession()];
      for (let count = 0; count < 12; count += 1) {
        const session = producers[count % producers.length]!;
        session.enqueue('groups', { payload: String(count), groupKey: 'one' });
        session.enqueue('groups', { payload: 'other', groupKey: `other ${count}` });
        await session.commit();
      }
      const consumer = store.openSession();
      const found: string[] = [];
      while (found.length < 24)
        found.push(...text(await consumer.dequeue('groups', { max: 24, waitMs: 20_000 })));
      await consumer.commit();
      expect(found.filter((payload) => payload !== 'other')).toEqual(
        Array.from({ length: 12 }, (_, count) => String(count)),
      );
    }),
  );

  it(
    'hold a message for longer than the servers’ limit, by reporting progress',
    withStore(
      servers,
      async (store) => {
        await store.createQueue({ name: 'reports' });
        const [one, other] = [store.openSession(), store.openSession()];
        one.enqueue('reports', { payload: 'slow' });
        await one.commit();
        await one.dequeue('reports');
        expect(await other.dequeue('reports', { waitMs: 5_000 })).toEqual([]);
        await one.commit();
        expect(await store.queue('reports')).toMatchObject({ consumed: 1, held: 0 });
      },
      { ackWaitMs: 3_000 },
    ),
  );

  it(
    'move a message to the exception queue when its attempts are used up',
    withStore(servers, async (store) => {
      await store.createQueue({ name: 'retries', attemptsMax: 2, retryDelayMs: 200 });
      const session = store.openSession();
      session.enqueue('retries', { payload: 'poison', correlationId: 'c' });
      const { ids } = await session.commit();
      for (const deliveryCount of [1, 2]) {
        const [message] = await session.dequeue('retries', { waitMs: 20_000 });
        expect(message).toMatchObject({ deliveryCount });
        await session.rollback({ error: new RangeError('no such customer') });
      }
      const [moved] = await session.dequeue('retries.exceptions', { waitMs: 20_000 });
      expect(moved).toMatchObject({ id: ids[0], correlationId: 'c' });
      expect(moved!.properties).toEqual({
        'exception-queue-of': 'retries',
        'exception-reason': 'delivered 2 times without being consumed',
        'exception-error-name': 'RangeError',
        'exception-error-message': 'no such customer',
        'exception-error-stack': expect.stringContaining('sessions.test.ts'),
        'exception-attempts-ended-at': expect.stringMatching(/^\["20.*Z","20.*Z"\]$/),
      });
      await session.commit();
      expect(await session.dequeue('retries')).toEqual([]);
      await expect(store.dropQueue('retries.exceptions')).rejects.toThrow(code('QUEUE_IN_USE'));
      await store.dropQueue('retries');
      await expect(store.queue('retries.exceptions')).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    }),
  );

  it(
    'create a missing exception queue for messages whose attempts are used up',
    withStore(
      servers,
      async (store) => {
        const spec = { name: 'stuck', attemptsMax: 1 };
        await store.createQueue(spec);
        const connection = await connect({ servers: [...servers.cluster.urls] });
        await (await jetstreamManager(connection)).streams.delete(streamOf('stuck.exceptions'));
        await connection.close();
        const session = store.openSession();
        for (const payload of ['a', 'b']) session.enqueue('stuck', { payload });
        await session.commit();
        expect(text(await session.dequeue('stuck', { max: 2 }))).toEqual(['a', 'b']);
        await session.rollback();
        const found: string[] = [];
        while (found.length < 2)
          found.push(...text(await session.dequeue('stuck.exceptions', { max: 1, waitMs: 20_000 })));
        await session.commit();
        expect(found.sort()).toEqual(['a', 'b']);
        expect(await session.dequeue('stuck')).toEqual([]);
      },
      { ackWaitMs: 3_000 },
    ),
  );

  it(
    'deliver a delayed message when it is due, with its id',
    withStore(servers, async (store) => {
      await store.createQueue({ name: 'delays' });
      const session = store.openSession();
      session.enqueue('delays', { payload: 'now' });
      session.enqueue('delays', { payload: 'later', delayMs: 1_000 });
      const { ids } = await session.commit();
      const { messages } = await store.browse('delays');
      expect(messages.map(({ state }) => state)).toEqual(['ready', 'delayed']);
      expect(await store.queue('delays')).toMatchObject({ ready: 1, delayed: 1 });
      expect(text(await session.dequeue('delays', { max: 2 }))).toEqual(['now']);
      const [later] = await session.dequeue('delays', { waitMs: 20_000 });
      expect(later).toMatchObject({ id: ids[1], deliveryCount: 1 });
      expect(Date.now()).toBeGreaterThanOrEqual(messages[1]!.untilMs!);
      await session.commit();
    }),
  );

  it(
    'give each subscriber of a topic the messages for it that were committed since it subscribed',
    withStore(servers, async (store) => {
      await store.createQueue({ name: 'news', type: 'topic' });
      const session = store.openSession();
      session.enqueue('news', { payload: 'before' });
      await session.commit();
      await store.subscribe('news', { name: 'ann ä' });
      await store.subscribe('news', { name: 'bob', durable: false });
      await expect(store.subscribe('news', { name: 'bob' })).rejects.toThrow(code('SUBSCRIBER_EXISTS'));
      session.enqueue('news', { payload: 'all' });
      session.enqueue('news', { payload: 'for ann', recipients: ['ann ä'] });
      await session.commit();
      session.enqueue('news', { payload: 'x', recipients: ['nobody'] });
      await expect(session.commit()).rejects.toThrow(code('SUBSCRIBER_NOT_FOUND'));
      expect(text(await session.dequeue('news', { subscriber: 'ann ä', max: 9 }))).toEqual([
        'all',
        'for ann',
      ]);
      expect(text(await session.dequeue('news', { subscriber: 'bob', max: 9 }))).toEqual(['all']);
      await expect(session.dequeue('news')).rejects.toThrow(code('OPTIONS_INVALID'));
      await expect(session.dequeue('news', { subscriber: 'carl' })).rejects.toThrow(
        code('SUBSCRIBER_NOT_FOUND'),
      );
      await session.commit();
      await vi.waitFor(
        async () =>
          expect(
            (await store.subscribers('news')).map(({ name, backlog }) => [name, backlog]).sort(),
          ).toEqual([
            ['ann ä', 0],
            ['bob', 0],
          ]),
        { timeout: 20_000 },
      );
      await store.close();
      const next = await servers.open();
      expect((await next.subscribers('news')).map(({ name }) => name)).toEqual(['ann ä']);
      await next.close();
    }),
  );

  it(
    'refuse enqueues and dequeues while the queue is stopped by another store',
    withStore(servers, async (store) => {
      const other = await servers.open();
      await store.createQueue({ name: 'stops' });
      const session = other.openSession();
      session.enqueue('stops', { payload: 'kept' });
      await session.commit();
      await store.stopQueue('stops', { dequeue: false });
      await vi.waitFor(
        async () => {
          session.enqueue('stops', { payload: 'refused' });
          await expect(session.commit()).rejects.toThrow(code('ENQUEUE_STOPPED'));
        },
        { timeout: 20_000, interval: 200 },
      );
      await store.startQueue('stops', { dequeue: false });
      await other.createQueue({ name: 'stops-waiting' });
      const waiting = expect(session.dequeue('stops-waiting', { waitMs: 60_000 })).rejects.toThrow(
        code('DEQUEUE_STOPPED'),
      );
      await store.stopQueue('stops-waiting');
      await waiting;
      expect(await store.stopQueue('stops', { enqueue: false })).toMatchObject({
        enqueueEnabled: true,
        dequeueEnabled: false,
      });
      await vi.waitFor(() => expect(session.dequeue('stops')).rejects.toThrow(code('DEQUEUE_STOPPED')), {
        timeout: 20_000,
        interval: 200,
      });
      await other.close();
    }),
  );

  it(
    'return prefetched messages that are not dequeued',
    withStore(
      servers,
      async (store) => {
        await store.createQueue({ name: 'ahead' });
        const session = store.openSession();
        for (let count = 0; count < 10; count += 1) session.enqueue('ahead', { payload: String(count) });
        await session.commit();
        expect(text(await session.dequeue('ahead', { max: 2 }))).toEqual(['0', '1']);
        expect(text(await session.dequeue('ahead', { max: 2 }))).toEqual(['2', '3']);
        const other = await servers.open();
        const found: string[] = [];
        const consumer = other.openSession();
        while (found.length < 6)
          found.push(...text(await consumer.dequeue('ahead', { max: 9, waitMs: 20_000 })));
        expect(found.sort()).toEqual(['4', '5', '6', '7', '8', '9']);
        await consumer.commit();
        await session.commit();
        await other.close();
        expect(await store.queue('ahead')).toMatchObject({ ready: 0, held: 0, consumed: 10 });
      },
      { prefetch: 100 },
    ),
  );
});
