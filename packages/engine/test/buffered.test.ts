/** Buffered queues: messages in memory, visible and consumed at once, with flow control. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Instance, openInstance, type QueueSpec } from '../src/index.ts';
import { makeFolder, openTestClient, openTestInstance, text } from './folder.ts';

const code = (value: string, details: object = {}) =>
  expect.objectContaining({ code: value, details: expect.objectContaining(details) });

const buffered: QueueSpec = { name: 'b', durability: 'memory', visibility: 'immediate' };

async function withQueue(spec: Partial<QueueSpec> = {}): Promise<Instance> {
  const instance = await openTestInstance();
  await instance.createQueue({ ...buffered, ...spec });
  return instance;
}

/** Sizes of all files of a folder, by name. */
function fileSizes(dir: string): Record<string, number> {
  return Object.fromEntries(readdirSync(dir).map((name) => [name, statSync(join(dir, name)).size]));
}

describe.each([
  ['embedded', async (instance: Instance) => instance],
  ['remote', openTestClient],
] as const)('a buffered queue, seen by an %s client', (_client, clientOf) => {
  it('shows a message when the enqueue resolves, and consumes it when the dequeue does, without a commit', async () => {
    const instance = await withQueue();
    const client = await clientOf(instance);
    const [enqueuer, dequeuer] = [client.openSession(), client.openSession()];
    const { ids } = await enqueuer.enqueueNow('b', { payload: 'a', correlationId: 'c', groupKey: 'g' });
    await enqueuer.rollback();
    const [message] = await dequeuer.dequeueNow('b');
    await dequeuer.rollback();
    expect(message).toMatchObject({ id: ids[0], correlationId: 'c', groupKey: 'g', deliveryCount: 1 });
    expect(message?.payload.toString()).toBe('a');
    expect(await enqueuer.dequeueNow('b')).toEqual([]);
    expect(instance.queue('b')).toMatchObject({ enqueued: 1, consumed: 1, ready: 0, held: 0 });
  });

  it('gives all messages of a call ids in order, and none if one of them is invalid', async () => {
    const instance = await withQueue();
    const session = (await clientOf(instance)).openSession();
    const { ids } = await session.enqueueNow('b', { payload: '1' }, { payload: '2' }, { payload: '3' });
    const messages = await session.dequeueNow('b', { max: 10 });
    expect(messages.map(({ id }) => id)).toEqual(ids);
    expect(text(messages)).toEqual(['1', '2', '3']);
    await expect(session.enqueueNow('b', { payload: '4' }, { payload: '5', priority: 3 })).rejects.toEqual(
      code('MESSAGE_INVALID', { field: 'priority' }),
    );
    expect(instance.queue('b').enqueued).toBe(3);
  });

  it('is outside the transaction of the session', async () => {
    const instance = await withQueue();
    await instance.createQueue({ name: 'stored' });
    const client = await clientOf(instance);
    const [session, other] = [client.openSession(), client.openSession()];
    session.enqueue('stored', { payload: 'rolled back' });
    await session.enqueueNow('b', { payload: 'stays' });
    await session.rollback();
    session.enqueue('stored', { payload: 'committed' });
    expect(text(await session.dequeueNow('b'))).toEqual(['stays']);
    await session.commit();
    expect(text(await other.dequeue('stored', { max: 2 }))).toEqual(['committed']);
    expect(await other.dequeueNow('b')).toEqual([]);
  });

  it('can be used while a transaction on the unsharded file is open', async () => {
    const instance = await withQueue();
    await instance.createQueue({ name: 'table', kind: 'unsharded' });
    const session = (await clientOf(instance)).openSession();
    session.enqueue('table', { payload: 'x' });
    await session.enqueueNow('b', { payload: 'y' });
    expect(text(await session.dequeueNow('b'))).toEqual(['y']);
    expect((await session.commit()).ids).toHaveLength(1);
  });

  it('delivers to waiting calls in the order of their arrival', async () => {
    const client = await clientOf(await withQueue());
    const waiting = [1, 2, 3].map(() => client.openSession().dequeueNow('b', { waitMs: 20_000 }));
    const enqueuer = client.openSession();
    await expect.poll(() => enqueuer.dequeueNow('b')).toEqual([]); // A remote instance has the waiting calls by then.
    for (const payload of ['1', '2', '3']) await enqueuer.enqueueNow('b', { payload });
    expect((await Promise.all(waiting)).map(text)).toEqual([['1'], ['2'], ['3']]);
  });

  it('delivers at least once under a timed hold: only an acknowledgement consumes the message', async () => {
    const instance = await withQueue();
    const session = (await clientOf(instance)).openSession();
    await session.enqueueNow('b', { payload: 'a' }, { payload: 'b' });
    const [first] = await session.receive('b');
    await session.release('b', [first!.receipt]);
    const [again] = await session.receive('b');
    expect(again).toMatchObject({ id: first!.id, deliveryCount: 2 });
    expect(text(await session.dequeueNow('b', { max: 5 }))).toEqual(['b']);
    session.acknowledge('b', [again!.receipt]);
    await session.commit();
    expect(instance.queue('b')).toMatchObject({ ready: 0, held: 0, consumed: 2 });
  });

  it('refuses calls of the other visibility', async () => {
    const instance = await withQueue();
    await instance.createQueue({ name: 'stored' });
    const session = (await clientOf(instance)).openSession();
    const commitOf = async () => {
      session.enqueue('b', { payload: 'x' });
      await session.commit();
    };
    await expect(commitOf()).rejects.toEqual(code('VISIBILITY_MISMATCH', { visibility: 'immediate' }));
    await session.rollback();
    await expect(session.dequeue('b')).rejects.toEqual(code('VISIBILITY_MISMATCH'));
    await expect(session.enqueueNow('stored', { payload: 'x' })).rejects.toEqual(
      code('VISIBILITY_MISMATCH', { visibility: 'commit' }),
    );
    await expect(session.dequeueNow('stored')).rejects.toEqual(code('VISIBILITY_MISMATCH'));
    expect(instance.queue('b').enqueued + instance.queue('stored').enqueued).toBe(0);
  });

  it('refuses an enqueue past its threshold, counting held messages, and accepts more after a dequeue', async () => {
    const instance = await withQueue({ messagesMax: 3 });
    const session = (await clientOf(instance)).openSession();
    await session.enqueueNow('b', { payload: '1' }, { payload: '2' });
    const refusal = { undelivered: 2, messagesMax: 3, retryAfterMs: 1_000 };
    await expect(session.enqueueNow('b', { payload: '3' }, { payload: '4' })).rejects.toEqual(
      code('ENQUEUE_RATE_TOO_HIGH', refusal),
    );
    await session.enqueueNow('b', { payload: '3' });
    await session.receive('b');
    await expect(session.enqueueNow('b', { payload: '4' })).rejects.toMatchObject({
      code: 'ENQUEUE_RATE_TOO_HIGH',
      retryable: true,
      details: { undelivered: 3 },
    });
    expect(text(await session.dequeueNow('b'))).toEqual(['2']);
    await session.enqueueNow('b', { payload: '4' });
    expect(instance.queue('b')).toMatchObject({ enqueued: 4, refused: 3 });
    expect(instance.queueStats('b').total).toMatchObject({ depth: 3, refused: 3 });
  });

  it('never accepts more messages in a call than the queue may have', async () => {
    const session = (await clientOf(await withQueue({ messagesMax: 1 }))).openSession();
    await expect(session.enqueueNow('b', { payload: '1' }, { payload: '2' })).rejects.toEqual(
      code('TX_TOO_LARGE', { operations: 2, operationsMax: 1 }),
    );
  });
});

it('has a threshold of 5,000 messages by default, or the one that its specification sets', async () => {
  const instance = await withQueue();
  expect(instance.queue('b')).toMatchObject({ visibility: 'immediate', messagesMax: 5_000 });
  await instance.createQueue({ ...buffered, name: 'large', messagesMax: 500_000 });
  expect(instance.queue('large').messagesMax).toBe(500_000);
  const session = instance.openSession();
  const messages = Array.from({ length: 5_000 }, () => ({ payload: 'x' }));
  await session.enqueueNow('b', ...messages);
  await expect(session.enqueueNow('b', { payload: 'x' })).rejects.toEqual(code('ENQUEUE_RATE_TOO_HIGH'));
});

it.each<[string, Partial<QueueSpec>]>([
  ['a durable one', { durability: 'durable' }],
  ['an unsharded one', { kind: 'unsharded', durability: 'durable' }],
  ['a threshold with visibility on commit', { visibility: 'commit', messagesMax: 10 }],
  ['a threshold of zero', { messagesMax: 0 }],
])('is not %s', async (_what, spec) => {
  const instance = await openTestInstance();
  await expect(instance.createQueue({ ...buffered, ...spec })).rejects.toEqual(code('QUEUE_SPEC_INVALID'));
});

it('delivers by priority, and keeps the order of each session in its shards', async () => {
  const instance = await withQueue({ priorities: true, shards: 4 });
  const session = instance.openSession();
  await session.enqueueNow('b', { payload: 'low' }, { payload: 'high', priority: 9 });
  expect(text(await session.dequeueNow('b', { max: 2 }))).toEqual(['high', 'low']);
});

it('delivers to each subscriber of a topic, and counts for flow control what the slowest has not consumed', async () => {
  const instance = await withQueue({ type: 'topic', messagesMax: 2 });
  await instance.subscribe('b', { name: 'fast' });
  await instance.subscribe('b', { name: 'slow' });
  const session = instance.openSession();
  await session.enqueueNow('b', { payload: '1' }, { payload: '2' });
  expect(text(await session.dequeueNow('b', { subscriber: 'fast', max: 5 }))).toEqual(['1', '2']);
  await expect(session.enqueueNow('b', { payload: '3' })).rejects.toEqual(code('ENQUEUE_RATE_TOO_HIGH'));
  expect(text(await session.dequeueNow('b', { subscriber: 'slow' }))).toEqual(['1']);
  await session.enqueueNow('b', { payload: '3' });
  expect(text(await session.dequeueNow('b', { subscriber: 'slow', max: 5 }))).toEqual(['2', '3']);
});

it('does not starve the event loop with calls that never have to wait', async () => {
  const session = (await withQueue({ messagesMax: 1 })).openSession();
  let ended = false;
  setImmediate(() => {
    ended = true;
  });
  let calls = 0;
  for (; !ended && calls < 100_000; calls += 1) {
    const { length } = await session.dequeueNow('b');
    if (length === 0) await session.enqueueNow('b', { payload: 'x' });
    else await session.enqueueNow('b', { payload: 'x' }, { payload: 'y' }).catch(() => undefined);
  }
  expect(calls).toBeLessThan(1_000);
});

it('writes no message, and commits no group', async () => {
  const dir = makeFolder();
  const instance = await openTestInstance({ dir, sampleIntervalMs: 3_600_000 });
  await instance.createQueue(buffered);
  const session = instance.openSession();
  await session.enqueueNow('b', { payload: 'warm' });
  await session.dequeueNow('b');
  await instance.probe(); // By now everything that the opening writes is written.
  const before = { sizes: fileSizes(dir), groups: instance.stats().groups };
  const payload = 'x'.repeat(10_000);
  for (let i = 0; i < 500; i += 1) {
    await session.enqueueNow('b', { payload });
    if (i % 2 === 0) await session.dequeueNow('b');
  }
  expect({ sizes: fileSizes(dir), groups: instance.stats().groups }).toEqual(before);
  expect(instance.queue('b')).toMatchObject({ ready: 250, consumed: 251 });
});

it('accepts messages while another session has the writer reserved', async () => {
  const instance = await withQueue();
  const [reserving, session] = [instance.openSession(), instance.openSession()];
  await reserving.query('CREATE TABLE t (x INTEGER)');
  await session.enqueueNow('b', { payload: 'a' });
  expect(text(await session.dequeueNow('b'))).toEqual(['a']);
  await reserving.rollback();
});

it('releases its part of the message cache as messages are consumed, and refuses what does not fit it', async () => {
  const instance = await withQueue({ cacheBytesMax: 1_000 });
  const session = instance.openSession();
  const payload = 'x'.repeat(600);
  await session.enqueueNow('b', { payload });
  await session.enqueueNow('b', { payload });
  await expect(session.enqueueNow('b', { payload })).rejects.toEqual(code('BACKLOG_FULL'));
  await session.dequeueNow('b', { max: 2 });
  expect(instance.queue('b').cacheBytes).toBe(0);
  await session.enqueueNow('b', { payload });
});

it('keeps its settings over a restart, and says how many messages were lost with the instance', async () => {
  const dir = makeFolder();
  const first = await openInstance({ dir });
  await first.createQueue({ ...buffered, messagesMax: 7 });
  await first.openSession().enqueueNow('b', { payload: '1' }, { payload: '2' });
  await first.close();
  const second = await openTestInstance({ dir });
  expect(second.queue('b')).toMatchObject({ visibility: 'immediate', messagesMax: 7, ready: 0, enqueued: 0 });
  expect(second.queue('b')).toMatchObject({ lost: 2 });
  expect(second.queueStats('b').total.lost).toBe(2);
  await second.close();
  const third = await openTestInstance({ dir });
  expect(third.queue('b').lost).toBe(0);
});

it('is refused like any other call once the queue is stopped or dropped', async () => {
  const instance = await withQueue();
  const session = instance.openSession();
  const waiting = instance.openSession().dequeueNow('b', { waitMs: 20_000 });
  await instance.stopQueue('b', { enqueue: true });
  await expect(session.enqueueNow('b', { payload: 'x' })).rejects.toEqual(code('ENQUEUE_STOPPED'));
  await instance.stopQueue('b', { dequeue: true });
  await expect(waiting).rejects.toEqual(code('DEQUEUE_STOPPED'));
  await instance.dropQueue('b');
  await expect(session.dequeueNow('b')).rejects.toEqual(code('QUEUE_NOT_FOUND'));
});
