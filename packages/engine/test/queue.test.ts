/** What a session sees of a queue of any kind. */
import { describe, expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { type Instance, openInstance, type QueueKind, type Session } from '../src/index.ts';
import { makeFolder, openTestClient, openTestInstance, text } from './folder.ts';

async function withQueue(kind: QueueKind): Promise<Instance> {
  const instance = await openTestInstance();
  await instance.createQueue({ name: 'orders', kind });
  return instance;
}

/** A client in this process and one at the other end of a socket get the same promises. */
const clients = {
  embedded: withQueue,
  remote: async (kind: QueueKind) => openTestClient(await withQueue(kind)),
} as const;

type Client = Pick<Instance, 'openSession'>;

async function put(instance: Client, ...payloads: string[]): Promise<string[]> {
  const session = instance.openSession();
  for (const payload of payloads) session.enqueue('orders', { payload });
  const { ids } = await session.commit();
  await session.close();
  return ids;
}

const code = (value: string) => expect.objectContaining({ code: value });

async function putAndCommit(session: Session, queue: string): Promise<void> {
  session.enqueue(queue, { payload: 'x' });
  await session.commit();
}

describe.each<[QueueKind, keyof typeof clients]>([
  ['sharded', 'embedded'],
  ['sharded', 'remote'],
  ['unsharded', 'embedded'],
  ['unsharded', 'remote'],
  ['unsharded-grouped', 'embedded'],
  ['unsharded-grouped', 'remote'],
])('a %s queue, seen by an %s client', (kind, client) => {
  it('shows a message only after its commit, with all its fields', async () => {
    const instance = await clients[client](kind);
    const [enqueuer, dequeuer] = [instance.openSession(), instance.openSession()];
    enqueuer.enqueue('orders', { payload: 'a', correlationId: 'c', groupKey: 'g', properties: { p: 'v' } });
    expect(await dequeuer.dequeue('orders')).toEqual([]);
    const { ids } = await enqueuer.commit();
    const [message] = await dequeuer.dequeue('orders');
    expect(message).toMatchObject({
      id: ids[0],
      correlationId: 'c',
      groupKey: 'g',
      properties: { p: 'v' },
      deliveryCount: 1,
    });
    expect(message?.payload.toString()).toBe('a');
  });

  it('undoes enqueues and dequeues at a rollback', async () => {
    const instance = await clients[client](kind);
    const session = instance.openSession();
    session.enqueue('orders', { payload: 'never' });
    await session.rollback();
    await put(instance, 'a', 'b');
    expect(text(await session.dequeue('orders', { max: 2 }))).toEqual(['a', 'b']);
    await session.rollback();
    const again = await session.dequeue('orders', { max: 3 });
    expect(text(again)).toEqual(['a', 'b']);
    expect(again.map((message) => message.deliveryCount)).toEqual([2, 2]);
  });

  it('makes the messages ready again that a closed session held', async () => {
    const instance = await clients[client](kind);
    await put(instance, 'a');
    const session = instance.openSession();
    await session.dequeue('orders');
    await session.close();
    expect(text(await instance.openSession().dequeue('orders', { waitMs: 5_000 }))).toEqual(['a']);
  });

  it('never delivers a consumed message again, not even after a restart', async () => {
    const dir = makeFolder();
    const first = await openInstance({ dir });
    await first.createQueue({ name: 'orders', kind });
    await put(first, 'a', 'b', 'c');
    const session = first.openSession();
    await session.dequeue('orders', { max: 2 });
    await session.commit();
    await first.close();
    const second = await openTestInstance({ dir });
    expect(second.queue('orders')).toMatchObject({ ready: 1, held: 0, enqueued: 3, consumed: 2 });
    expect(text(await second.openSession().dequeue('orders', { max: 5, waitMs: 5_000 }))).toEqual(['c']);
  });

  it('wakes a waiting dequeue with the commit of another session', async () => {
    const instance = await clients[client](kind);
    const waiting = instance.openSession().dequeue('orders', { max: 10, waitMs: 20_000 });
    await put(instance, 'a', 'b');
    expect(text(await waiting)).toEqual(['a', 'b']);
  });

  it('serves waiting sessions in the order of their calls', async () => {
    const instance = await clients[client](kind);
    const first = instance.openSession().dequeue('orders', { waitMs: 20_000 });
    const second = instance.openSession().dequeue('orders', { waitMs: 20_000 });
    await put(instance, 'a', 'b');
    expect([text(await first), text(await second)]).toEqual([['a'], ['b']]);
  });

  it('ends a wait when its time is over, it is aborted, or its session is closed', async () => {
    const instance = await clients[client](kind);
    expect(await instance.openSession().dequeue('orders', { waitMs: 1 })).toEqual([]);
    const abort = new AbortController();
    const aborted = instance.openSession().dequeue('orders', { waitMs: 20_000, signal: abort.signal });
    abort.abort();
    expect(await aborted).toEqual([]);
    const session = instance.openSession();
    const closed = session.dequeue('orders', { waitMs: 20_000 });
    await session.close();
    expect(await closed).toEqual([]);
  });

  it('makes a received message ready again when its hold expires; a late receipt changes nothing', async () => {
    const instance = await clients[client](kind);
    await put(instance, 'a');
    const session = instance.openSession();
    const [held] = await session.receive('orders', { holdMs: 10 });
    const [again] = await session.receive('orders', { waitMs: 20_000, holdMs: 60_000 });
    expect(again).toMatchObject({ id: held!.id, deliveryCount: 2 });
    session.acknowledge('orders', [held!.receipt]);
    await expect(session.commit()).rejects.toThrow(code('RECEIPT_STALE'));
    await expect(session.extend('orders', [held!.receipt], 1_000)).rejects.toThrow(code('RECEIPT_STALE'));
    expect((await instance.queue('orders')).held).toBe(1);
    session.acknowledge('orders', [again!.receipt]);
    await session.commit();
    expect(await instance.queue('orders')).toMatchObject({ ready: 0, held: 0, consumed: 1 });
  });

  it('commits nothing of a transaction with a stale receipt', async () => {
    const instance = await clients[client](kind);
    await put(instance, 'a', 'b');
    const session = instance.openSession();
    const [a, b] = await session.receive('orders', { max: 2 });
    session.enqueue('orders', { payload: 'never' });
    session.acknowledge('orders', [a!.receipt, 'no.such.receipt.0']);
    await expect(session.commit()).rejects.toThrow(code('RECEIPT_STALE'));
    session.acknowledge('orders', [a!.receipt, a!.receipt]);
    await expect(session.commit()).rejects.toThrow(code('RECEIPT_STALE'));
    expect(await instance.queue('orders')).toMatchObject({ enqueued: 2, ready: 0, held: 2 });
    session.acknowledge('orders', [a!.receipt, b!.receipt]);
    await session.commit();
    expect((await instance.queue('orders')).held).toBe(0);
  });

  it('returns an acknowledged message to its hold when the transaction rolls back', async () => {
    const instance = await clients[client](kind);
    await put(instance, 'a');
    const session = instance.openSession();
    const [held] = await session.receive('orders', { holdMs: 60_000 });
    session.acknowledge('orders', [held!.receipt]);
    await session.rollback();
    await session.release('orders', [held!.receipt]);
    expect(text(await session.dequeue('orders', { waitMs: 20_000 }))).toEqual(['a']);
  });

  it('refuses enqueues and dequeues while they are stopped, and rejects waiting calls', async () => {
    const instance = await clients[client](kind);
    await put(instance, 'a');
    const session = instance.openSession();
    await instance.stopQueue('orders', { enqueue: true });
    await expect(putAndCommit(session, 'orders')).rejects.toThrow(code('ENQUEUE_STOPPED'));
    await expect(putAndCommit(session, 'nothing')).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    expect(text(await session.dequeue('orders'))).toEqual(['a']);
    await session.commit();
    const waiting = instance.openSession().dequeue('orders', { waitMs: 20_000 });
    const rejected = expect(waiting).rejects.toThrow(code('DEQUEUE_STOPPED'));
    await instance.stopQueue('orders');
    await rejected;
    await expect(session.dequeue('orders')).rejects.toThrow(code('DEQUEUE_STOPPED'));
    expect(await instance.startQueue('orders')).toMatchObject({ enqueueEnabled: true, dequeueEnabled: true });
    session.enqueue('orders', { payload: 'b' });
    await session.commit();
    expect(text(await session.dequeue('orders'))).toEqual(['b']);
  });

  it('drops a queue with its messages; a new queue of the same name is empty', async () => {
    const instance = await clients[client](kind);
    await put(instance, 'a', 'b');
    const waiting = instance.openSession();
    await waiting.dequeue('orders', { max: 2 });
    const rejected = expect(instance.openSession().dequeue('orders', { waitMs: 20_000 })).rejects.toThrow(
      code('QUEUE_DROPPED'),
    );
    await instance.dropQueue('orders');
    await rejected;
    await expect(waiting.commit()).rejects.toThrow(code('QUEUE_DROPPED'));
    await expect(instance.dropQueue('orders')).rejects.toThrow(code('QUEUE_NOT_FOUND'));
    await instance.createQueue({ name: 'orders', kind });
    expect(await instance.queue('orders')).toMatchObject({ ready: 0, enqueued: 0 });
    expect(await instance.openSession().dequeue('orders')).toEqual([]);
  });

  it('pages through its messages without consuming or holding them', async () => {
    const instance = await clients[client](kind);
    await put(instance, 'a', 'b', 'c', 'd', 'e');
    const session = instance.openSession();
    await session.dequeue('orders');
    const first = await instance.browse('orders', { limit: 3 });
    const second = await instance.browse('orders', { limit: 3, after: first.next! });
    expect([text(first.messages), text(second.messages)]).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ]);
    expect(second.next).toBeNull();
    expect(first.messages.map((message) => message.state)).toEqual(['held', 'ready', 'ready']);
    await expect(instance.browse('orders', { after: 'x' })).rejects.toThrow(code('OPTIONS_INVALID'));
  });

  it('commits the enqueues and dequeues of a transaction together', async () => {
    const instance = await clients[client](kind);
    await instance.createQueue({ name: 'done', kind });
    await put(instance, 'a');
    const session = instance.openSession();
    const [message] = await session.dequeue('orders');
    session.enqueue('done', { payload: message!.payload });
    await session.commit();
    expect((await instance.queue('orders')).consumed).toBe(1);
    expect((await instance.queue('done')).ready).toBe(1);
  });

  it('refuses a second call of a session while one is under way, and any call after its close', async () => {
    const instance = await clients[client](kind);
    const session = instance.openSession();
    const waiting = session.dequeue('orders', { waitMs: 20_000 });
    await expect(session.commit()).rejects.toThrow(code('SESSION_BUSY'));
    expect(() => session.enqueue('orders', { payload: 'x' })).toThrow(code('SESSION_BUSY'));
    await session.close();
    await waiting;
    await expect(session.dequeue('orders')).rejects.toThrow(code('SESSION_CLOSED'));
  });
});

describe('a transaction', () => {
  it('cannot span the two kinds of queue', async () => {
    const instance = await withQueue('sharded');
    await instance.createQueue({ name: 'table', kind: 'unsharded' });
    const session = instance.openSession();
    session.enqueue('orders', { payload: 'a' });
    expect(() => session.enqueue('table', { payload: 'b' })).toThrow(code('TX_SPANS_FILES'));
    await session.commit();
    expect(instance.queue('orders').ready).toBe(1);
  });

  it('has a bounded number of operations', async () => {
    const instance = await withQueue('sharded');
    const session = instance.openSession();
    for (let i = 0; i < 100_000; i += 1) session.enqueue('orders', { payload: '' });
    expect(() => session.enqueue('orders', { payload: '' })).toThrow(code('TX_TOO_LARGE'));
    await session.rollback();
  });
});

describe('a nonpersistent queue', () => {
  it('delivers in order and is empty after a restart', async () => {
    const dir = makeFolder();
    const first = await openInstance({ dir });
    await first.createQueue({ name: 'orders', durability: 'memory' });
    const ids = await put(first, 'a', 'b', 'c');
    const session = first.openSession();
    expect(text(await session.dequeue('orders', { max: 2 }))).toEqual(['a', 'b']);
    await session.commit();
    expect(first.queue('orders')).toMatchObject({ ready: 1, enqueued: 3, consumed: 2 });
    await first.close();
    const second = await openTestInstance({ dir });
    expect(second.queue('orders').ready).toBe(0);
    expect(ids).not.toContain((await put(second, 'd'))[0]);
  });

  it('shows held messages to a browse as well as ready ones', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders', durability: 'memory' });
    await put(instance, 'a', 'b');
    await put(instance, 'c'.repeat(100_000));
    await put(instance, 'd');
    const session = instance.openSession();
    await session.dequeue('orders', { max: 3 });
    const { messages } = await instance.browse('orders');
    expect(messages.map((message) => [message.payload.toString()[0], message.state])).toEqual([
      ['a', 'held'],
      ['b', 'held'],
      ['c', 'held'],
      ['d', 'ready'],
    ]);
    await session.commit();
    expect(text((await instance.browse('orders')).messages)).toEqual(['d']);
  });

  it('can settle messages one by one that were received together, and then frees their memory', async () => {
    const instance = await openTestInstance();
    await instance.createQueue({ name: 'orders', durability: 'memory' });
    await put(instance, 'a', 'b', 'c');
    const session = instance.openSession();
    const cacheBytes = () => instance.stats().shards[0]!.cacheBytes;
    const [a, ...others] = await session.receive('orders', { max: 3 });
    session.acknowledge('orders', [a!.receipt]);
    await session.commit();
    const receipts = others.map(({ receipt }) => receipt);
    await session.release('orders', receipts);
    expect(text((await instance.browse('orders')).messages)).toEqual(['b', 'c']);
    expect(cacheBytes()).toBeGreaterThan(0);
    await session.dequeue('orders', { max: 3 });
    await session.commit();
    expect(cacheBytes()).toBe(0);
  });

  it('refuses messages past the bound of the cache, and accepts more once there is space', async () => {
    const instance = await openTestInstance({ cacheBytesMax: 10_000 });
    await instance.createQueue({ name: 'orders', durability: 'memory' });
    const session = instance.openSession();
    const fill = async () => {
      for (let i = 0; i < 100; i += 1) {
        session.enqueue('orders', { payload: Buffer.alloc(1_000) });
        await session.commit();
      }
    };
    await expect(fill()).rejects.toThrow(code('BACKLOG_FULL'));
    await session.dequeue('orders', { max: 100 });
    await session.commit();
    session.enqueue('orders', { payload: 'again' });
    await session.commit();
    expect(instance.queue('orders').ready).toBe(1);
  });
});

it('a dequeue that does not wait gets what is left by many calls before it, which take more than one turn', async () => {
  const instance = await withQueue('sharded');
  const many = limits.resumedOperationsPerTurnMax + 10;
  const waiting = Array.from({ length: many }, () =>
    instance.openSession().dequeue('orders', { waitMs: 20_000 }),
  );
  const payloads = Array.from({ length: many + 1 }, (_, index) => `${index}`);
  const session = instance.openSession();
  for (const payload of payloads) session.enqueue('orders', { payload });
  await session.commit();
  const last = await instance.openSession().dequeue('orders');
  expect(text([...(await Promise.all(waiting)).flat(), ...last])).toEqual(payloads);
});
