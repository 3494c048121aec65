/** Partitions whose bytes changed on disk: intact messages are delivered, damaged ones are reported and never delivered. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkFolder, type Instance, openInstance, QueueError, type Session } from '../../src/index.ts';
import { decodeRanges, encodeRanges } from '../../src/model/consumption.ts';
import {
  ConsumptionWriter,
  consumptionTable,
} from '../../src/storage/instance-file/tables/partition-table.ts';
import { readConsumption } from '../../src/storage/instance-file/tables/read-partition.ts';
import { openInMemory } from '../../src/storage/sqlite/open-sqlite.ts';
import { makeFolder, openTestInstance, text } from '../folder.ts';
import { drawnSeed } from '../random.ts';
import { overwrite, overwriteText, smashTable } from './damage.ts';

const partitionMessagesMax = 10;
const damaged = expect.objectContaining({ code: 'PARTITION_DAMAGED' });

async function put(session: Session, queue: string, ...payloads: string[]): Promise<string[]> {
  for (const payload of payloads) session.enqueue(queue, { payload });
  return (await session.commit()).ids;
}

/** Consumes all messages that a session gets. Returns their payloads, and the error code of the last call. */
async function takeAll(instance: Instance, queue: string): Promise<{ found: string[]; end: string }> {
  const session = instance.openSession();
  const found: string[] = [];
  for (;;) {
    try {
      const messages = await session.dequeue(queue, { max: 7 });
      if (messages.length === 0) return { found, end: 'empty' };
      found.push(...text(messages));
      await session.commit();
    } catch (error) {
      if (!(error instanceof QueueError)) throw error;
      return { found, end: error.code };
    }
  }
}

const numbered = (prefix: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `${prefix}${from + index};`.padEnd(200, '.'));

/** Queue `q` with 30 messages in each of two shards, three partitions a shard; queue `other` with 5. Closed. */
async function makeQueues(): Promise<{ dir: string; path: string }> {
  const dir = makeFolder();
  const instance = await openInstance({ dir, partitionMessagesMax });
  await instance.createQueue({ name: 'q', shards: 2 });
  await instance.createQueue({ name: 'other' });
  const [a, b, c] = [instance.openSession(), instance.openSession(), instance.openSession()];
  for (let i = 0; i < 30; i += 1) {
    await put(a, 'q', ...numbered('a', i, i + 1));
    await put(b, 'q', ...numbered('b', i, i + 1));
  }
  await put(c, 'other', ...numbered('c', 0, 5));
  await instance.close();
  return { dir, path: join(dir, 'instance-1.db') };
}

const reopen = (dir: string) => openTestInstance({ dir, partitionMessagesMax });
const short = (payloads: string[]) => payloads.map((payload) => payload.slice(0, payload.indexOf(';')));
const ofShard = (payloads: string[], prefix: string) => short(payloads).filter((id) => id.startsWith(prefix));
const ids = (prefix: string, from: number, to: number) => short(numbered(prefix, from, to));

describe('a message whose bytes changed', () => {
  it('is not delivered; messages before it, and those of other shards and queues, are', async () => {
    const { dir, path } = await makeQueues();
    overwriteText(path, 'a14;');
    const instance = await reopen(dir);
    const { found, end } = await takeAll(instance, 'q');
    expect(end).toBe('PARTITION_DAMAGED');
    expect(ofShard(found, 'a')).toEqual(ids('a', 0, 14));
    expect(ofShard(found, 'b')).toEqual(ids('b', 0, 30));
    expect(short((await takeAll(instance, 'other')).found)).toEqual(ids('c', 0, 5));
    const states = instance.stats().shards.flatMap((shard) => shard.partitions.map(({ state }) => state));
    expect(states.filter((state) => state === 'damaged')).toHaveLength(1);
  });

  it('is reported after each reopening, and new sessions enqueue to other shards while there are any', async () => {
    const { dir, path } = await makeQueues();
    overwriteText(path, 'a0;');
    for (let round = 0; round < 2; round += 1) {
      const instance = await reopen(dir);
      expect((await takeAll(instance, 'q')).end).toBe('PARTITION_DAMAGED');
      const sessions = Array.from({ length: 4 }, () => instance.openSession());
      const shards = new Set<string>();
      for (const session of sessions) shards.add((await put(session, 'q', 'new;'))[0]!.split('.')[0]!);
      expect(shards.size).toBe(1);
      expect(short((await takeAll(instance, 'q')).found)).toEqual(['new', 'new', 'new', 'new']);
      await instance.close();
    }
  });

  it('does not end a dequeue that waits for other shards, and is reported at the end of the wait', async () => {
    const { dir, path } = await makeQueues();
    overwriteText(path, 'a0;');
    const instance = await reopen(dir);
    await takeAll(instance, 'q');
    const session = instance.openSession();
    const waiting = session.dequeue('q', { waitMs: 60_000 });
    await put(instance.openSession(), 'q', 'new;');
    expect(short(text(await waiting))).toEqual(['new']);
    await session.commit();
    await expect(session.dequeue('q', { waitMs: 20 })).rejects.toThrow(damaged);
  });

  it('is left out of a browse', async () => {
    const { dir, path } = await makeQueues();
    overwriteText(path, 'a14;');
    const instance = await reopen(dir);
    const { messages } = await instance.browse('q', { limit: 1_000 });
    const found = messages.map((message) => message.payload.toString());
    expect(ofShard(found, 'a')).toEqual([...ids('a', 0, 14), ...ids('a', 20, 30)]);
    expect(ofShard(found, 'b')).toEqual(ids('b', 0, 30));
  });
});

describe('a partition that cannot be read', () => {
  it('stops the delivery of its shard in front of it, and ends a dequeue at once if the queue has no other shard', async () => {
    const dir = makeFolder();
    const first = await openInstance({ dir, partitionMessagesMax });
    await first.createQueue({ name: 'q' });
    for (let i = 0; i < 30; i += 1) await put(first.openSession(), 'q', ...numbered('a', i, i + 1));
    await first.close();
    smashTable(join(dir, 'instance-1.db'), 'partition_2');
    const instance = await reopen(dir);
    expect(await takeAll(instance, 'q')).toEqual({ found: numbered('a', 0, 10), end: 'PARTITION_DAMAGED' });
    await expect(instance.openSession().dequeue('q', { waitMs: 60_000 })).rejects.toThrow(damaged);
    expect(instance.queue('q')).toMatchObject({ enqueued: 30, ready: 20, consumed: 10 });
  });

  it('takes no more messages if it was the last of its shard, which continues with higher numbers', async () => {
    const { dir, path } = await makeQueues();
    for (const table of ['partition_1', 'partition_2', 'partition_3', 'partition_4', 'partition_5'])
      smashTable(path, table);
    const instance = await reopen(dir);
    const damagedStates = () =>
      instance
        .stats()
        .shards.flatMap(({ partitions }) => partitions.filter(({ state }) => state === 'damaged'));
    expect(damagedStates()).toHaveLength(5);
    const keys = ['k', 'l', 'm', 'n'].map((groupKey) => ({ payload: 'new;', groupKey }));
    const session = instance.openSession();
    for (const message of keys) session.enqueue('q', message);
    const { ids: given } = await session.commit();
    expect(new Set(given).size).toBe(4);
    for (const id of given) expect(Number(id.split('.')[1])).toBeGreaterThan(30);
    await instance.close();
    const again = await reopen(dir);
    expect((await takeAll(again, 'other')).found).toHaveLength(5);
  });

  it('of one priority does not keep less urgent messages from being delivered', async () => {
    const dir = makeFolder();
    const before = await openInstance({ dir });
    await before.createQueue({ name: 'q', priorities: true });
    const session = before.openSession();
    for (const payload of ['u0;', 'u1;', 'u2;']) {
      session.enqueue('q', { payload, priority: 5 });
      await session.commit();
    }
    await put(session, 'q', 'plain');
    await before.close();
    overwriteText(join(dir, 'instance-1.db'), 'u1;');
    const instance = await reopen(dir);
    expect(await takeAll(instance, 'q')).toEqual({ found: ['u0;', 'plain'], end: 'PARTITION_DAMAGED' });
  });

  it('is retired when it is consumed or its queue is dropped, and never reused', async () => {
    const { dir, path } = await makeQueues();
    const before = await reopen(dir);
    for (let taken = 0; taken < 60; ) {
      const session = before.openSession();
      taken += (await session.dequeue('q', { max: 3 })).length;
      await session.commit();
    }
    await put(before.openSession(), 'q', 'last;');
    await before.close();
    smashTable(path, 'partition_1'); // This partition is free, or the last of its shard.
    smashTable(path, 'partition_9');
    const instance = await reopen(dir);
    await instance.createQueue({ name: 'r' });
    const session = instance.openSession();
    for (let i = 0; i < 60; i += 1) await put(session, 'r', `${i}`);
    await instance.dropQueue('q');
    expect((await takeAll(instance, 'r')).found).toHaveLength(60);
    expect((await takeAll(instance, 'other')).found).toHaveLength(5);
  });
});

it('does not redeliver consumed messages if their consumption is damaged', async () => {
  const { dir, path } = await makeQueues();
  const before = await reopen(dir);
  const session = before.openSession();
  const [message] = await session.dequeue('q', { max: 3 });
  await session.commit();
  const [prefix] = message!.payload.toString();
  await before.close();
  const file = new Database(path);
  file.exec(`UPDATE consumption SET ranges = x'0001'`); // This claims that two of the three were not consumed.
  file.close();
  const { found, end } = await takeAll(await reopen(dir), 'q');
  expect(end).toBe('PARTITION_DAMAGED');
  expect(ofShard(found, prefix!)).toEqual([]);
});

it('a damaged row of what was consumed stays damaged when the others of its partition are merged', () => {
  const file = openInMemory();
  onTestFinished(() => void file.close());
  file.exec(consumptionTable.schemaSql);
  const writer = new ConsumptionWriter(file);
  const key = { partition: 1, subscriber: 0 };
  const consume = (seq: number) => writer.write(key, seq, Buffer.from(encodeRanges([[seq - 1, seq]], 0)));
  consume(1);
  consume(2);
  // Wrong ranges that can be decoded: they say that messages which are ready were consumed.
  const wrong = Buffer.from(encodeRanges([[1, 9_000]], 0));
  file.prepare('UPDATE consumption SET ranges = ? WHERE group_number = 2').run(wrong);
  for (let seq = 3; seq <= 256; seq += 1) consume(seq);
  const rows = readConsumption(file).get(1)!;
  expect(rows.map(({ undamaged }) => undamaged)).toEqual([false, true]);
  expect(decodeRanges(rows[1]!.ranges, 0)).toEqual([
    [0, 1],
    [2, 256],
  ]);
});

it('a damaged delayed message is kept, and the others become ready', async () => {
  const dir = makeFolder();
  const before = await openTestInstance({ dir });
  await before.createQueue({ name: 'q' });
  const session = before.openSession();
  for (const payload of ['first;', 'second;', 'third;']) {
    session.enqueue('q', { payload, delayMs: 300 });
  }
  await session.commit();
  await before.close();
  overwriteText(join(dir, 'instance-1.db'), 'second;');
  const instance = await reopen(dir);
  expect(text((await instance.browse('q')).messages)).not.toContainEqual(expect.stringContaining('cond;'));
  const consumer = instance.openSession();
  const found: string[] = [];
  while (found.length < 2) found.push(...text(await consumer.dequeue('q', { max: 9, waitMs: 30_000 })));
  expect(found).toEqual(['first;', 'third;']);
  await consumer.commit();
  expect(instance.queue('q')).toMatchObject({ ready: 0, delayed: 1 });
  expect(checkFolder(dir).faults).toEqual([
    expect.stringContaining('1 rows of the table delayed are damaged'),
  ]);
});

describe('damage anywhere in the file', () => {
  it('is reported: no message is lost silently, duplicated or changed', {
    timeout: 120_000,
  }, async () => {
    const { dir, path } = await makeQueues();
    const before = await reopen(dir);
    const consumer = before.openSession();
    const consumed = short(text(await consumer.dequeue('q', { max: 13 })));
    await consumer.commit();
    await before.close();
    const used: number[] = []; // Most of a page is empty, and changes there have no effect.
    for (const [at, byte] of readFileSync(path).entries()) if (byte !== 0) used.push(at);
    const live = [...ids('a', 0, 30), ...ids('b', 0, 30)].filter((id) => !consumed.includes(id));
    const seed = drawnSeed;
    console.info(`damage anywhere: seed ${seed}`);
    const ends = new Map<string, number>();
    for (let round = 0; round < 24; round += 1) {
      const copy = makeFolder();
      const from = new Database(path, { readonly: true });
      await from.backup(join(copy, 'instance-1.db'));
      from.close();
      const catalog = new Database(join(dir, 'catalog.db'), { readonly: true });
      await catalog.backup(join(copy, 'catalog.db'));
      catalog.close();
      const at = used[(seed + round * 7_919) % used.length]!;
      overwrite(join(copy, 'instance-1.db'), at, round % 2 === 0 ? 1 : 64);
      let end: string;
      let found: string[] = [];
      try {
        const instance = await openInstance({ dir: copy, partitionMessagesMax });
        ({ found, end } = await takeAll(instance, 'q'));
        await instance.close();
      } catch (error) {
        if (!(error instanceof QueueError)) throw error;
        end = error.code;
      }
      const got = short(found);
      expect(new Set(got).size, `duplicated, byte ${at}`).toBe(got.length);
      expect(
        got.filter((id) => !live.includes(id)),
        `not live, byte ${at}`,
      ).toEqual([]);
      if (end === 'empty') expect(got.toSorted(), `lost in silence, byte ${at}`).toEqual(live.toSorted());
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
    console.info(Object.fromEntries(ends));
  });
});
