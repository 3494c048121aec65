/** Sessions that prefetch: the messages of a dequeue may have been sent with the previous commit. */
import { describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { ClientSession, Instance, QueueSpec, Session } from '../../src/index.ts';
import { openTestClient, openTestInstance, text } from '../folder.ts';
import { code, connectTo, serve } from './serving.ts';
import { makeUnreliableLink } from './unreliable-link.ts';

async function setUp(spec: Partial<QueueSpec> = {}, prefetch = 20) {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'q', ...spec });
  const client = await openTestClient(instance);
  return { instance, client, session: client.openSession({ prefetch }) };
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i));

async function fill(instance: Instance, count: number): Promise<void> {
  const session = instance.openSession();
  for (const payload of numbers(count)) session.enqueue('q', { payload });
  await session.commit();
}

/** Dequeues and commits, after which the following messages are prefetched. */
async function consume(session: Session, max: number, queue = 'q'): Promise<string[]> {
  const messages = await session.dequeue(queue, { max });
  await session.commit();
  return text(messages);
}

/** Payloads of the ready messages with their delivery counts. */
const readyNow = async (instance: Instance) =>
  (await instance.openSession().dequeue('q', { max: 100 })).map(
    ({ payload, deliveryCount }) => `${payload} ${deliveryCount}`,
  );

async function dequeueWithoutRequest(session: ClientSession, max: number): Promise<string[]> {
  const before = session.roundTrips;
  const messages = await session.dequeue('q', { max });
  expect(session.roundTrips).toBe(before);
  return text(messages);
}

describe.each(['durable', 'memory'] as const)('a session that prefetches from a %s queue', (durability) => {
  it('gets the messages of its next transactions without a request of their own', async () => {
    const { instance, session } = await setUp({ durability });
    await fill(instance, 40);
    const got = await consume(session, 5);
    for (let i = 1; i < 8; i += 1) {
      got.push(...(await dequeueWithoutRequest(session, 5)));
      await session.commit();
    }
    expect(got).toEqual(numbers(40));
    expect(await session.dequeue('q')).toEqual([]);
    expect(instance.queue('q')).toMatchObject({ ready: 0, held: 0, consumed: 40 });
  });

  it('returns dequeued and prefetched messages in order at a rollback', async () => {
    const { instance, session } = await setUp({ durability });
    await fill(instance, 30);
    await consume(session, 2);
    expect(await dequeueWithoutRequest(session, 3)).toEqual(['2', '3', '4']);
    await session.rollback();
    const ready = await readyNow(instance);
    expect(ready.slice(0, 4)).toEqual(['2 2', '3 2', '4 2', '5 1']);
    expect(ready.map((each) => each.split(' ')[0])).toEqual(numbers(30).slice(2));
    expect(ready.filter((each) => each.endsWith(' 2'))).toHaveLength(3);
  });

  it('returns dequeued and prefetched messages in order when it is closed', async () => {
    const { instance, session } = await setUp({ durability });
    await fill(instance, 6);
    await consume(session, 1);
    expect(await dequeueWithoutRequest(session, 2)).toEqual(['1', '2']);
    await session.close();
    expect(await readyNow(instance)).toEqual(['1 2', '2 2', '3 1', '4 1', '5 1']);
  });

  it('returns prefetched messages that it does not dequeue, and keeps those of its transaction', async () => {
    const { instance, session } = await setUp({ durability });
    await fill(instance, 8);
    await consume(session, 1);
    expect(await dequeueWithoutRequest(session, 2)).toEqual(['1', '2']);
    expect(instance.queue('q').held).toBe(7);
    await vi.waitFor(() => expect(instance.queue('q').held).toBe(2), {
      timeout: 10 * limits.prefetchIdleMs,
    });
    expect(await readyNow(instance)).toEqual(['3 1', '4 1', '5 1', '6 1', '7 1']);
    await session.commit();
    expect(instance.queue('q')).toMatchObject({ held: 5, consumed: 3 });
  });
});

const xid = { formatId: 1, gtrid: Buffer.from('g'), bqual: Buffer.from('b') };

describe('a session that prefetches', () => {
  it('never has more prefetched messages than its limit, however many it dequeues', async () => {
    const { instance, session } = await setUp({}, 4);
    await fill(instance, 30);
    for (let i = 0; i < 4; i += 1) {
      await consume(session, 6);
      await session.rollback(); // No transaction is open.
      expect(instance.queue('q').held).toBeLessThanOrEqual(4);
    }
  });

  it('prefetches nothing while the call of another session waits', async () => {
    const { instance, session } = await setUp();
    await fill(instance, 1);
    const messages = await session.dequeue('q');
    const waiting = instance.openSession().dequeue('q', { waitMs: 60_000 });
    await session.commit();
    await fill(instance, 1);
    expect(text(messages)).toEqual(['0']);
    expect(text(await waiting)).toEqual(['0']);
  });

  it('is given messages that it has enqueued itself', async () => {
    const { instance, session } = await setUp();
    await fill(instance, 1);
    await session.dequeue('q');
    session.enqueue('q', { payload: 'own' });
    await session.commit();
    expect(text(await session.dequeue('q'))).toEqual(['own']);
  });

  it('waits for messages until the given time is over, the wait is aborted or the session is closed', async () => {
    const { instance, session } = await setUp();
    expect(await session.dequeue('q', { waitMs: 5 })).toEqual([]);
    const abort = new AbortController();
    const aborted = session.dequeue('q', { waitMs: 60_000, signal: abort.signal });
    abort.abort();
    expect(await aborted).toEqual([]);
    const coming = session.dequeue('q', { waitMs: 60_000 });
    await fill(instance, 1);
    expect(text(await coming)).toEqual(['0']);
    await session.commit();
    const waiting = session.dequeue('q', { waitMs: 60_000 });
    await expect(session.dequeue('q')).rejects.toThrow(code('SESSION_BUSY'));
    await session.close();
    expect(await waiting).toEqual([]);
    await expect(session.dequeue('q')).rejects.toThrow(code('SESSION_CLOSED'));
  });

  it('begins again with the oldest message if its commit is refused', async () => {
    const { instance, session } = await setUp();
    await fill(instance, 12);
    await consume(session, 2);
    expect(await dequeueWithoutRequest(session, 2)).toEqual(['2', '3']);
    session.enqueue('none', { payload: 'a' });
    await expect(session.commit()).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    expect(await consume(session, 3)).toEqual(['2', '3', '4']);
    expect(instance.queue('q').consumed).toBe(5);
  });

  it('commits and dequeues in one call', async () => {
    const { instance, session } = await setUp();
    await fill(instance, 9);
    await session.dequeue('q', { max: 3 });
    expect(text((await session.commitAndDequeue('q', { max: 3 })).messages)).toEqual(['3', '4', '5']);
    expect(text((await session.commitAndDequeue('q', { max: 3 })).messages)).toEqual(['6', '7', '8']);
    await session.commit();
    expect(instance.queue('q').consumed).toBe(9);
  });

  it('has its transaction rolled back when its connection is lost, and is then given the same messages again', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'q' });
    await fill(instance, 12);
    const served = await serve(instance);
    const link = await makeUnreliableLink(served.path);
    const client = await connectTo(link.path);
    const session = client.openSession({ prefetch: 20 });
    await consume(session, 2);
    expect(await dequeueWithoutRequest(session, 2)).toEqual(['2', '3']);
    link.cut();
    await client.probe().catch(() => undefined);
    await expect(session.commit()).rejects.toThrow(code('TX_NOT_COMMITTED'));
    const again = await session.dequeue('q', { max: 3, waitMs: 10_000 });
    expect(text(again)).toEqual(['2', '3', '4']);
    expect(again.map(({ deliveryCount }) => deliveryCount)).toEqual([2, 2, 2]); // The instance cannot know which messages the session had dequeued.
    await session.commit();
    expect(instance.queue('q').consumed).toBe(5);
  });

  it('has the same limit of messages in a transaction as any session', async () => {
    const { instance, session } = await setUp();
    const max = limits.dequeueMessagesMax;
    const most = limits.transactionOperationsMax - max;
    for (let filled = 0; filled < most; filled += max) await fill(instance, max);
    await fill(instance, 1);
    for (let taken = 0; taken <= most; ) taken += (await session.dequeue('q', { max })).length;
    await expect(session.dequeue('q', { max })).rejects.toThrow(code('TX_TOO_LARGE'));
    await session.commit();
    expect(instance.queue('q')).toMatchObject({ held: 0, consumed: most + 1 });
  });

  it('prefetches from a topic for one subscriber', async () => {
    const { instance, session } = await setUp({ type: 'topic' });
    await instance.subscribe('q', { name: 'one' });
    await instance.subscribe('q', { name: 'two' });
    await fill(instance, 12);
    const got: string[] = [];
    for (let i = 0; i < 4; i += 1) {
      got.push(...text(await session.dequeue('q', { subscriber: 'one', max: 3 })));
      await session.commit();
    }
    expect(got).toEqual(numbers(12));
    expect(text(await session.dequeue('q', { subscriber: 'two', max: 20 }))).toEqual(numbers(12)); // The other subscriber needs a request for each dequeue.
    await expect(session.dequeue('q', { subscriber: 'three' })).rejects.toThrow(code('SUBSCRIBER_NOT_FOUND'));
  });

  it('prefetches from one queue and dequeues from others by requests, in one transaction', async () => {
    const { instance, session } = await setUp();
    await instance.createQueue({ name: 'other' });
    await fill(instance, 12);
    await consume(session, 2);
    session.enqueue('other', { payload: 'x' });
    await session.commit();
    expect(await dequeueWithoutRequest(session, 2)).toEqual(['2', '3']);
    expect(text(await session.dequeue('other'))).toEqual(['x']);
    await session.rollback();
    expect(await consume(session, 3)).toEqual(['2', '3', '4']);
    expect(await consume(session, 1, 'other')).toEqual(['x']);
    expect(instance.queue('other').consumed).toBe(1);
  });

  it('cannot open a consumer or start a branch', async () => {
    const { instance, session } = await setUp();
    await fill(instance, 3);
    await consume(session, 1);
    await expect(session.openConsumer('q')).rejects.toThrow(code('PREFETCH_ACTIVE'));
    await expect(session.xa!.start(xid)).rejects.toThrow(code('PREFETCH_ACTIVE'));
    expect(await consume(session, 1)).toEqual(['1']);
  });
});

describe('a session that could prefetch takes a round trip for each dequeue', () => {
  async function expectRoundTrips(session: ClientSession, instance: Instance): Promise<void> {
    await fill(instance, 6);
    await consume(session, 2); // The first dequeue may need a request to learn whether the queue has pipelines.
    for (let i = 1; i < 3; i += 1) {
      const before = session.roundTrips!;
      expect(await consume(session, 2)).toHaveLength(2);
      expect(session.roundTrips! - before).toBe(2);
    }
    expect(instance.queue('q')).toMatchObject({ ready: 0, held: 0, consumed: 6 });
  }

  it.each<Partial<QueueSpec>>([
    { kind: 'unsharded' },
    { kind: 'unsharded-grouped' },
    { attemptsCounted: 'on-delivery' },
  ])('from a queue without pipelines or one that counts each delivery (%o)', async (spec) => {
    const { instance, session } = await setUp(spec);
    await expectRoundTrips(session, instance);
  });

  it('if it has opened a consumer before', async () => {
    const { instance, session } = await setUp();
    await session.openConsumer('q');
    await expectRoundTrips(session, instance);
  });

  it('if its first dequeue is part of a branch', async () => {
    const { instance, session } = await setUp();
    await fill(instance, 1);
    await session.xa!.start(xid);
    expect(text(await session.dequeue('q'))).toEqual(['0']);
    await session.xa!.end(xid);
    await session.xa!.prepare(xid);
    await session.xa!.commit(xid);
    await fill(instance, 6);
    await consume(session, 2);
    expect(instance.queue('q').held).toBe(0); // Nothing is prefetched.
  });

  it('and gets the errors that any dequeue gets', async () => {
    const { instance, client, session } = await setUp({ durability: 'memory', visibility: 'immediate' });
    await expect(session.dequeue('q')).rejects.toThrow(code('VISIBILITY_MISMATCH'));
    const other = client.openSession({ prefetch: 5 });
    await expect(other.dequeue('none')).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    await instance.createQueue({ name: 'none' });
    expect(await other.dequeue('none')).toEqual([]);
    await instance.stopQueue('none', { dequeue: true });
    await expect(other.dequeue('none')).rejects.toThrow(code('DEQUEUE_STOPPED'));
    expect(() => client.openSession({ prefetch: -1 })).toThrow(code('OPTIONS_INVALID'));
    expect(() => client.openSession({ prefetch: 10_001 })).toThrow(code('OPTIONS_INVALID'));
  });
});
