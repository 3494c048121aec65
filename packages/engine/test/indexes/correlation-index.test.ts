/** Browsing by correlation id, with and without a local index on each partition. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { type Instance, openInstance, type QueueSpec, repairFolder } from '../../src/index.ts';
import { CorrelationKey } from '../../src/model/correlation-key.ts';
import { smashTable } from '../faults/damage.ts';
import { makeFolder, openTestClient, openTestInstance, text } from '../folder.ts';
import { all, marked, put, take } from './marked.ts';

const partitionMessagesMax = 10;
const hourMs = 3_600_000;

async function withQueue(spec: Partial<QueueSpec> = {}, dir = makeFolder()): Promise<Instance> {
  const instance = await openTestInstance({ dir, partitionMessagesMax });
  await instance.createQueue({ name: 'orders', ...spec });
  return instance;
}

/** The number of rows in each index table of a partition, by name. */
function indexes(dir: string): Record<string, number> {
  const file = new Database(join(dir, 'instance-1.db'), { readonly: true });
  const names = file
    .prepare("SELECT name FROM sqlite_schema WHERE name GLOB 'partition_*_index' ORDER BY name")
    .pluck()
    .all() as string[];
  const rows = names.map((name) => [name, file.prepare(`SELECT count(*) FROM ${name}`).pluck().get()]);
  file.close();
  return Object.fromEntries(rows);
}

/** Two words with the same hash. */
const twins = ['costarring', 'liquid'] as const;

describe.each([
  ['a queue with an index', { correlationIndex: true }],
  ['a queue with priorities and an index', { correlationIndex: true, priorities: true }],
  ['a queue without an index', {}],
  ['a nonpersistent queue', { durability: 'memory' }],
  ['an unsharded queue', { kind: 'unsharded' }],
] as [string, Partial<QueueSpec>][])('a browse of %s for a correlation id', (_, spec) => {
  it('finds exactly the messages that have it, in order and page by page', async () => {
    const instance = await withQueue(spec);
    for (let first = 0; first < 40; first += 4) await put(instance, 'orders', marked(first, first + 4, 8));
    const found = await all(instance, 'orders', { correlationId: 'id-3' });
    expect(text(found)).toEqual(['m3', 'm11', 'm19', 'm27']);
    expect(found.every(({ correlationId }) => correlationId === 'id-3')).toBe(true);
    expect(await all(instance, 'orders', { correlationId: 'id' })).toEqual([]);
    expect(await all(instance, 'orders', { correlationId: '' })).toEqual([]);
    await take(instance, 'orders', 12);
    expect(text(await all(instance, 'orders', { correlationId: 'id-3' }))).toEqual(['m19', 'm27']);
  });
});

describe('a browse by an index', () => {
  it('distinguishes ids with the same hash', async () => {
    const instance = await withQueue({ correlationIndex: true });
    const [one, other] = twins;
    expect(new CorrelationKey(one).hash).toBe(new CorrelationKey(other).hash);
    await put(instance, 'orders', [
      { payload: 'one', correlationId: one },
      { payload: 'other', correlationId: other },
    ]);
    await put(instance, 'orders', [{ payload: 'again', correlationId: other }]);
    expect(text(await all(instance, 'orders', { correlationId: one }))).toEqual(['one']);
    expect(text(await all(instance, 'orders', { correlationId: other }))).toEqual(['other', 'again']);
  });

  it('finds held, delayed and exception messages, also from another process', async () => {
    const instance = await withQueue({ correlationIndex: true, attemptsMax: 1 });
    const correlationId = 'c';
    await put(instance, 'orders', [
      { payload: 'poison', correlationId },
      { payload: 'held', correlationId },
      { payload: 'later', correlationId, delayMs: hourMs },
      { payload: 'other', correlationId: 'd', delayMs: hourMs },
    ]);
    const session = instance.openSession();
    await session.dequeue('orders', { max: 1 });
    await session.rollback();
    await session.dequeue('orders', { max: 1 });
    const client = await openTestClient(instance);
    await expect
      .poll(async () => text((await client.browse('orders.exceptions', { correlationId })).messages))
      .toEqual(['poison']);
    expect(instance.queue('orders.exceptions').correlationIndex).toBe(true);
    const { messages } = await client.browse('orders', { correlationId });
    expect(messages.map(({ payload, state }) => `${payload} ${state}`)).toEqual([
      'held held',
      'later delayed',
    ]);
  });

  it('shows each subscriber of a topic its own messages', async () => {
    const instance = await withQueue({ correlationIndex: true, type: 'topic' });
    for (const name of ['a', 'b']) await instance.subscribe('orders', { name });
    await put(instance, 'orders', [
      { payload: 'both', correlationId: 'c' },
      { payload: 'to b', correlationId: 'c', recipients: ['b'] },
    ]);
    expect(text(await all(instance, 'orders', { correlationId: 'c', subscriber: 'a' }))).toEqual(['both']);
    expect(text(await all(instance, 'orders', { correlationId: 'c', subscriber: 'b' }))).toEqual([
      'both',
      'to b',
    ]);
  });
});

describe('the index of a partition', () => {
  it('exists only for queues that have one, is emptied with its partition, and dropped when another queue reuses that', async () => {
    const dir = makeFolder();
    const instance = await withQueue({}, dir);
    await instance.createQueue({ name: 'indexed', correlationIndex: true });
    await put(instance, 'orders', marked(0, 10, 4));
    await instance.checkpoint();
    expect(indexes(dir)).toEqual({});
    for (let first = 0; first < 40; first += 10) await put(instance, 'indexed', marked(first, first + 10, 4));
    await instance.checkpoint();
    expect(Object.values(indexes(dir))).toEqual([1, 1, 1, 1]);
    while ((await take(instance, 'indexed', 10)) > 0);
    await put(instance, 'indexed', [{ payload: 'last' }]);
    await expect.poll(() => Object.values(indexes(dir)).filter((rows) => rows > 0).length).toBeLessThan(2);
    for (let first = 0; first < 200; first += 10) await put(instance, 'orders', marked(first, first + 10, 4));
    await instance.checkpoint();
    expect(Object.keys(indexes(dir)).length).toBeLessThan(3);
    expect(text(await all(instance, 'orders', { correlationId: 'id-3', limit: 100 }))).toHaveLength(42);
  });

  it('loses no message if it is damaged: the queue continues, and a browse reads the messages instead', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir, partitionMessagesMax });
    await before.createQueue({ name: 'orders', correlationIndex: true });
    for (let first = 0; first < 15; first += 5) await put(before, 'orders', marked(first, first + 5, 4));
    await before.close();
    for (const name of Object.keys(indexes(dir))) smashTable(join(dir, 'instance-1.db'), name);
    const instance = await openTestInstance({ dir, partitionMessagesMax });
    await put(instance, 'orders', marked(15, 20, 4));
    await put(instance, 'orders', marked(20, 30, 4));
    const wanted = [3, 7, 11, 19, 23, 27].map((number) => `m${number}`);
    expect(text(await all(instance, 'orders', { correlationId: 'id-3' }))).toEqual(wanted);
    let taken = 0;
    while (taken < 30) taken += await take(instance, 'orders', 100);
    await put(instance, 'orders', [{ payload: 'last', correlationId: 'id-3' }]);
    expect(text(await all(instance, 'orders', { correlationId: 'id-3' }))).toEqual(['last']);
  });

  it('is rebuilt for the messages that a repair saves', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir, partitionMessagesMax });
    await before.createQueue({ name: 'orders', correlationIndex: true });
    for (let first = 0; first < 10; first += 5) await put(before, 'orders', marked(first, first + 5, 4));
    await before.close();
    const file = new Database(join(dir, 'instance-1.db'));
    file.exec('UPDATE partition_1 SET body = zeroblob(20) WHERE seq = 1');
    file.close();
    expect(repairFolder(dir).replaced[0]!.partitions).toHaveLength(1);
    const instance = await openTestInstance({ dir, partitionMessagesMax });
    expect(text(await all(instance, 'orders', { correlationId: 'id-3' }))).toEqual(['m7']);
  });

  it.each([
    ['nonpersistent', { durability: 'memory' }],
    ['unsharded', { kind: 'unsharded' }],
    ['given an index setting that is not a boolean', { correlationIndex: 'yes' as unknown as boolean }],
  ] as [string, Partial<QueueSpec>][])('is refused for a queue that is %s', async (_, spec) => {
    const instance = await openTestInstance();
    const queue = { name: 'orders', correlationIndex: true, ...spec };
    await expect(instance.createQueue(queue)).rejects.toMatchObject({ code: 'QUEUE_SPEC_INVALID' });
  });
});
