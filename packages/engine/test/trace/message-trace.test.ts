/** The recorded events of a message, and its reported whereabouts. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import {
  type Instance,
  type MessageTrace,
  openInstance,
  type QueueSpec,
  serveInstance,
} from '../../src/index.ts';
import { makeFolder, openTestClient, openTestInstance } from '../folder.ts';

async function withQueue(
  spec: Partial<QueueSpec> = {},
  options: Parameters<typeof openTestInstance>[0] = {},
) {
  const instance = await openTestInstance(options);
  await instance.createQueue({ name: 'q', shards: 1, ...spec });
  return instance;
}

/** Enqueues messages that are traced, in one transaction; returns their ids. */
async function putTraced(instance: Instance, count = 1, delayMs?: number): Promise<string[]> {
  instance.traceNext('q', count);
  return put(instance, count, delayMs);
}

async function put(instance: Instance, count = 1, delayMs?: number): Promise<string[]> {
  const session = instance.openSession();
  for (let i = 0; i < count; i += 1)
    session.enqueue('q', { payload: `${i}`, ...(delayMs !== undefined && { delayMs }) });
  const { ids } = await session.commit();
  await session.close();
  return ids;
}

const kinds = ({ events }: MessageTrace) => events.map(({ event }) => event);
const code = (value: string) => expect.objectContaining({ code: value });

describe('a traced message', () => {
  it('has each event until the truncation of its partition, with place, session, attempt and group', async () => {
    const instance = await withQueue({}, { partitionMessagesMax: 1 });
    const [id] = await putTraced(instance);
    const session = instance.openSession();
    await session.dequeue('q');
    await session.rollback();
    await session.dequeue('q');
    await session.commit();
    await put(instance); // Now the partition of the traced message is no longer the last one.
    await expect.poll(async () => kinds(await instance.messageTrace('q', id!))).toContain('truncated');

    const trace = await instance.messageTrace('q', id!);
    expect(trace).toMatchObject({ id, queue: 'q', coverage: 'complete' });
    expect(kinds(trace)).toEqual([
      'enqueued',
      'grouped',
      'committed',
      'cached',
      'delivered',
      'rolled-back',
      'returned',
      'delivered',
      'consumed',
      'truncated',
    ]);
    const [enqueued, grouped, committed, , first, , , second, consumed, truncated] = trace.events;
    const [shard, seq] = id!.split('.').map(Number);
    for (const event of trace.events) expect(event).toMatchObject({ instance: 1, shard, seq });
    expect(enqueued).toMatchObject({
      session: expect.stringMatching(/^1\.\d+$/),
      partition: expect.any(Number),
    });
    expect(grouped!.group).toBe(committed!.group);
    expect(committed).toMatchObject({ others: 0, writeMs: expect.any(Number) });
    expect(first).toMatchObject({ attempt: 1, session: session.id });
    expect(second).toMatchObject({ attempt: 2, session: session.id });
    expect(consumed!.group).toBeGreaterThan(committed!.group!);
    expect(truncated!.partition).toBe(committed!.partition);
    const times = trace.events.map(({ atMs }) => atMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(trace.whereabouts).toEqual([{ instance: 1, state: 'consumed', partition: 'truncated' }]);
  });

  it('shows how many other transactions were in its group', async () => {
    const instance = await withQueue();
    instance.traceNext('q');
    const sessions = Array.from({ length: 5 }, () => instance.openSession());
    for (const session of sessions) session.enqueue('q', { payload: 'a' });
    const results = await Promise.all(sessions.map((session) => session.commit()));
    const { events } = await instance.messageTrace('q', results[0]!.ids[0]!);
    expect(events.find(({ event }) => event === 'committed')).toMatchObject({ others: 4 });
  });

  it('shows when a timed hold began, was extended and ended, and when it expires', async () => {
    const instance = await withQueue();
    const [id] = await putTraced(instance);
    const session = instance.openSession();
    const [message] = await session.receive('q', { holdMs: 60_000 });
    await session.extend('q', [message!.receipt], 120_000);
    const { whereabouts, events } = await instance.messageTrace('q', id!);
    const delivered = events.find(({ event }) => event === 'delivered')!;
    expect(whereabouts).toMatchObject([
      { state: 'held', holder: 'timed-hold', session: session.id, sinceMs: expect.any(Number) },
    ]);
    const until = events
      .filter(({ event }) => event === 'held' || event === 'extended')
      .map(({ untilMs }) => untilMs!);
    expect(until[0]! - delivered.atMs).toBeGreaterThan(50_000);
    expect(until[1]! - until[0]!).toBeGreaterThan(50_000);
    await session.release('q', [message!.receipt]);
    expect(kinds(await instance.messageTrace('q', id!)).slice(-2)).toEqual(['released', 'returned']);
    await session.receive('q', { holdMs: 10 });
    await expect
      .poll(async () => kinds(await instance.messageTrace('q', id!)).slice(-2))
      .toEqual(['expired', 'returned']);
  });

  it('keeps its trace when it is delayed, and when it moves to the exception queue', async () => {
    const instance = await withQueue({ attemptsMax: 1 });
    const [id] = await putTraced(instance, 1, 60);
    const early = await instance.messageTrace('q', id!);
    expect(kinds(early)).toEqual(['enqueued', 'delayed']);
    expect(early.whereabouts).toMatchObject([
      { state: 'delayed', reason: 'not-due', untilMs: early.events[1]!.untilMs },
    ]);
    const session = instance.openSession();
    await session.dequeue('q', { waitMs: 30_000 });
    await session.rollback();
    const moved = instance.openSession();
    expect(await moved.dequeue('q.exceptions', { waitMs: 30_000 })).toMatchObject([{ id }]);
    const trace = await instance.messageTrace('q', id!);
    expect(kinds(trace)).toEqual([
      'enqueued',
      'delayed',
      'due',
      'grouped',
      'committed',
      'cached',
      'delivered',
      'rolled-back',
      'diverted',
      'consumed',
    ]);
    expect(trace.coverage).toBe('complete');
  });

  it('of a topic has separate events for each subscriber', async () => {
    const instance = await withQueue({ type: 'topic' });
    await instance.subscribe('q', { name: 'billing' });
    await instance.subscribe('q', { name: 'audit' });
    const [id] = await putTraced(instance);
    const session = instance.openSession();
    await session.dequeue('q', { subscriber: 'audit' });
    await session.commit();
    const { events, whereabouts } = await instance.messageTrace('q', id!);
    const ofSubscriber = (name: string) =>
      events.filter(({ subscriber }) => subscriber === name).map(({ event }) => event);
    expect(ofSubscriber('audit')).toEqual(['cached', 'delivered', 'consumed']);
    expect(ofSubscriber('billing')).toEqual(['cached']);
    expect(whereabouts).toMatchObject([
      { subscriber: 'billing', state: 'ready', reason: 'no-consumer', ahead: 0 },
      { subscriber: 'audit', state: 'consumed', partition: 'filling' },
    ]);
  });

  it('is traced on the instance to which it is forwarded too', async () => {
    const dir = makeFolder();
    const [owner, other] = await Promise.all(
      [1, 2].map(async (instance) => openInstance({ dir, instance, traceEvery: 128 })),
    );
    const served = await Promise.all([owner!, other!].map((instance) => serveInstance(instance)));
    onTestFinished(async () => {
      for (const each of served) await each.close();
      for (const each of [owner!, other!]) await each.close();
    });
    await owner!.createQueue({ name: 'q', shards: 1 });
    await put(owner!, 127);
    const [id] = await put(owner!); // This is number 128, which every instance traces.
    const session = other!.openSession();
    let taken = 0;
    while (taken < 128) {
      taken += (await session.dequeue('q', { max: 128, waitMs: 10_000 })).length;
      await session.commit();
    }
    await expect.poll(async () => kinds(await owner!.messageTrace('q', id!)).at(-1)).toBe('consumed');
    expect(kinds(await owner!.messageTrace('q', id!)).slice(-2)).toEqual(['forwarded', 'consumed']);
    const onReceiver = await other!.messageTrace('q', id!);
    expect(onReceiver).toMatchObject({
      coverage: 'partial',
      whereabouts: [{ instance: 2, state: 'consumed' }],
    });
    expect(kinds(onReceiver)).toEqual([
      'received',
      'grouped',
      'committed',
      'cached',
      'delivered',
      'consumed',
    ]);
    expect(onReceiver.events[0]).toMatchObject({ peer: 1 });
  });

  it('can be requested and read over a connection', async () => {
    const instance = await withQueue();
    const client = await openTestClient(instance);
    await client.traceNext('q');
    const [id] = await put(instance);
    expect(await client.messageTrace('q', id!)).toMatchObject({ coverage: 'complete', id });
    expect(await client.tracedMessages('q')).toMatchObject([{ id, event: 'cached' }]);
  });
});

describe('the choice of messages', () => {
  it('is every 64th message at this rate, and at most 2 % of them', async () => {
    const instance = await withQueue({}, { traceEvery: 64 });
    const ids = await put(instance, 640);
    const traced = instance.tracedMessages('q', { limit: 100 }).map(({ id }) => id);
    expect(traced.toSorted()).toEqual(ids.filter((_, index) => (index + 1) % 64 === 0).toSorted());
    expect(traced.length / ids.length).toBeLessThanOrEqual(0.02);
    expect(await instance.messageTrace('q', ids[0]!)).toMatchObject({
      coverage: 'none',
      events: [],
      whereabouts: [{ state: 'ready', reason: 'no-consumer', ahead: 0 }],
      recorders: [{ instance: 1, traceEvery: 64, overwritten: 0 }],
    });
  });

  it('is empty at a rate of 0, where only requested messages are traced', async () => {
    const instance = await withQueue({}, { traceEvery: 0 });
    await put(instance, 300);
    expect(instance.tracedMessages('q')).toEqual([]);
    const [id] = await putTraced(instance);
    await put(instance, 300);
    expect(instance.tracedMessages('q')).toMatchObject([{ id }]);
  });

  it('includes messages of nonpersistent queues with immediate visibility, with the events that they have', async () => {
    const instance = await withQueue(
      { durability: 'memory', visibility: 'immediate', messagesMax: 1_000 },
      { traceEvery: 128 },
    );
    const session = instance.openSession();
    const { ids } = await session.enqueueNow('q', ...Array.from({ length: 128 }, () => ({ payload: 'a' })));
    const id = instance.tracedMessages('q').map((message) => message.id)[0]!;
    expect(ids).toContain(id);
    while ((await session.dequeueNow('q', { max: 100 })).length > 0);
    const trace = await instance.messageTrace('q', id);
    expect(kinds(trace)).toEqual(['enqueued', 'committed', 'cached', 'delivered', 'consumed']);
    expect(trace.whereabouts).toMatchObject([{ state: 'consumed', partition: 'none' }]);
  });
});

describe('the reason why a message waits is reported whether or not it is traced:', () => {
  it('other messages before it, a holder, its retry delay, or a stopped dequeue', async () => {
    const instance = await withQueue({ retryDelayMs: 60_000 });
    const ids = await put(instance, 3);
    const whereabouts = async (index: number) =>
      (await instance.messageTrace('q', ids[index]!)).whereabouts[0];
    expect(await whereabouts(2)).toMatchObject({ state: 'ready', reason: 'behind-others', ahead: 2 });
    const session = instance.openSession();
    await session.dequeue('q');
    expect(await whereabouts(0)).toMatchObject({ state: 'held', holder: 'transaction', session: session.id });
    expect(await whereabouts(2)).toMatchObject({ reason: 'behind-others', ahead: 1 });
    await session.rollback();
    expect(await whereabouts(0)).toMatchObject({ state: 'delayed', reason: 'retry-delay' });
    await instance.stopQueue('q', { dequeue: true });
    expect(await whereabouts(1)).toMatchObject({ reason: 'dequeue-stopped' });
    expect((await instance.messageTrace('q', '100.99')).whereabouts).toEqual([
      { instance: 1, state: 'unknown' },
    ]);
  });

  it('more urgent messages of its shard', async () => {
    const instance = await withQueue({ priorities: true });
    const session = instance.openSession();
    session.enqueue('q', { payload: 'low' });
    session.enqueue('q', { payload: 'urgent', priority: 9 });
    const { ids } = await session.commit();
    const { whereabouts } = await instance.messageTrace('q', ids[0]!);
    expect(whereabouts).toMatchObject([{ reason: 'behind-others', ahead: 1 }]);
  });

  it('for a consumed message, the message for which its partition is kept', async () => {
    const instance = await withQueue({}, { partitionMessagesMax: 2 });
    const ids = await put(instance, 1);
    const [second] = await put(instance, 1);
    await put(instance, 1);
    const [holder, session] = [instance.openSession(), instance.openSession()];
    await holder.dequeue('q');
    await session.dequeue('q');
    await session.commit();
    expect((await instance.messageTrace('q', second!)).whereabouts).toMatchObject([
      { state: 'consumed', partition: 'waits', waitsFor: ids[0] },
    ]);
  });

  it('a branch in doubt', async () => {
    const instance = await withQueue();
    const [id] = await put(instance);
    const session = instance.openSession();
    const xid = { formatId: 1, gtrid: Buffer.from('t'), bqual: Buffer.from('b') };
    await session.xa!.start(xid);
    await session.dequeue('q');
    await session.xa!.end(xid, 'success');
    await instance.xa.prepare(xid);
    expect((await instance.messageTrace('q', id!)).whereabouts).toMatchObject([
      { state: 'held', holder: 'branch' },
    ]);
    await instance.xa.rollback(xid);
  });

  it('also after a restart, although the trace has no events from before', async () => {
    const dir = makeFolder();
    const first = await withQueue({}, { dir });
    const [id] = await putTraced(first);
    await first.close();
    const instance = await openTestInstance({ dir });
    expect(await instance.messageTrace('q', id!)).toMatchObject({
      events: [],
      coverage: 'none',
      whereabouts: [{ state: 'ready', reason: 'no-consumer' }],
    });
  });
});

describe('an invalid request', () => {
  it('is refused with a typed error', async () => {
    const instance = await withQueue();
    await instance.createQueue({ name: 'plain', kind: 'unsharded' });
    await expect(instance.messageTrace('plain', '100.1')).rejects.toEqual(code('FEATURE_UNSUPPORTED'));
    await expect(instance.messageTrace('none', '100.1')).rejects.toEqual(code('QUEUE_NOT_FOUND'));
    await expect(instance.messageTrace('q', 'no id')).rejects.toEqual(code('OPTIONS_INVALID'));
    for (const count of [0, 1.5, limits.tracesPendingMax + 1])
      expect(() => instance.traceNext('q', count)).toThrow(code('OPTIONS_INVALID'));
    for (const limit of [0, limits.tracedMessagesMax + 1])
      expect(() => instance.tracedMessages('q', { limit })).toThrow(code('OPTIONS_INVALID'));
    for (const traceEvery of [32, 100, 2 ** 21, -1])
      await expect(openInstance({ dir: makeFolder(), traceEvery })).rejects.toEqual(code('OPTIONS_INVALID'));
  });
});
