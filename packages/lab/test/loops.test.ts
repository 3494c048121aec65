/** The loops deliver every message once and in order, and what they write can be read again and counted. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WaitRecorder } from '@shardlab/engine';
import { parseScenario } from '@shardlab/lab';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import type { QueueClient } from '../src/systems/driver/driver.ts';
import { drivers } from '../src/systems/drivers.ts';
import { loops } from '../src/systems/systems.ts';
import { programScenario, runPoints, wholeAndDrained } from './program-runs.ts';

const book = () => new WaitRecorder({ clock: { monotonicMs: () => performance.now() } });

async function openLoop(name: 'log-loop' | 'group-loop', subscribers = 0) {
  const dir = await mkdtemp(join(tmpdir(), 'shardlab-test-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const client = await (await drivers[name]())({
    ...{ dir, endpoints: [], durability: '', process: 1, createsQueue: true },
    ...{ enqueuers: 3, dequeuers: 2, operations: 4, subscribers, emulatedSyncMs: 0 },
  });
  return { client, dir };
}

/** All messages that arrive while this many are consumed, by consumer. */
async function consume(
  client: QueueClient,
  { consumers, messages }: { consumers: number; messages: number },
) {
  const delivered: string[] = [];
  const consumed: string[] = [];
  const byConsumer = Array.from({ length: consumers }, (): string[] => []);
  const all = Promise.withResolvers<void>();
  const consumption = await client.consume({
    ...{ consumers, operations: 4, book: book() },
    deliveries: {
      delivered(payload, consumer) {
        delivered.push(payload.toString());
        byConsumer[consumer]!.push(payload.toString());
        return null;
      },
      redelivered: () => {
        throw new Error('nothing comes twice');
      },
      consumed(deliveries) {
        consumed.push(...deliveries.map(String));
        if (consumed.length === messages) all.resolve();
      },
    },
  });
  return { delivered, byConsumer, all: all.promise, stop: () => consumption.stop() };
}

/** Three producers that send transactions of two messages at once. */
async function produce(client: QueueClient, transactions: number) {
  const producers = await Promise.all([0, 1, 2].map(() => client.openProducer(book())));
  const work = async (producer: number) => {
    for (let index = 0; index < transactions; index += 1)
      await producers[producer]!.send([0, 1].map((half) => Buffer.from(`${producer}:${2 * index + half}`)));
  };
  await Promise.all(producers.map((_, producer) => work(producer)));
}

const numbersOf = (producer: number, messages: readonly string[]) =>
  messages.filter((text) => text.startsWith(`${producer}:`)).map((text) => Number(text.slice(2)));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

describe.each(loops.map(({ driver }) => driver))('%s', (name) => {
  it('delivers every message once, in the order of its producer, and syncs a group of all that wait', async () => {
    const { client } = await openLoop(name);
    const { delivered, all, stop } = await consume(client, { consumers: 2, messages: 600 });
    await produce(client, 100);
    await all;
    await stop();
    for (const producer of [0, 1, 2]) expect(numbersOf(producer, delivered)).toEqual(upTo(200));
    expect(await client.depth(0)).toBe(0);
    // The producers wait together, so a group has the messages of all of them. The last one may only have consumed some.
    const { syncs } = client.written!();
    expect(syncs).toBeGreaterThanOrEqual(100);
    expect(syncs).toBeLessThanOrEqual(110);
    await client.close();
  });

  it('gives every message of a topic to each subscriber', async () => {
    const { client } = await openLoop(name, 2);
    const { byConsumer, all, stop } = await consume(client, { consumers: 2, messages: 120 });
    await produce(client, 10);
    await all;
    await stop();
    for (const messages of byConsumer)
      for (const producer of [0, 1, 2]) expect(numbersOf(producer, messages)).toEqual(upTo(20));
    expect([await client.depth(0), await client.depth(1)]).toEqual([0, 0]);
    await client.close();
  });

  it('counts what is not consumed', async () => {
    const { client } = await openLoop(name);
    await produce(client, 5);
    expect(await client.depth(0)).toBe(30);
    expect(client.written!().syncs).toBe(5);
    await client.close();
  });
});

test('a record of the log loop has the messages of its group, at the next sector', async () => {
  const { client, dir } = await openLoop('log-loop');
  await produce(client, 2);
  await client.close();
  const log = await readFile(join(dir, 'loop-1.log-0'));
  expect(log.length).toBe(4 * 1024 * 1024);
  const record = (at: number) => ({ first: log.readDoubleLE(at + 8), messages: log.readUInt32LE(at + 16) });
  expect([record(0), record(512), record(1024)]).toEqual([
    { first: 0, messages: 6 },
    { first: 6, messages: 6 },
    { first: 0, messages: 0 },
  ]);
  expect(log.subarray(512, 1024).toString('latin1')).toContain('0:3');
});

test('the log loop writes its segments over in turn, and groups that are larger than one', async () => {
  const { client, dir } = await openLoop('log-loop');
  const { all, stop } = await consume(client, { consumers: 1, messages: 10 });
  const producer = await client.openProducer(book());
  for (let index = 0; index < 10; index += 1)
    await producer.send([Buffer.alloc((index === 5 ? 5 : 1.5) * 2 ** 20, index)]);
  await all;
  await stop();
  await client.close();
  const [first, second] = await Promise.all(
    [0, 1].map((index) => readFile(join(dir, `loop-1.log-${index}`))),
  );
  expect(Math.max(first!.length, second!.length)).toBeGreaterThan(5 * 2 ** 20);
  expect(Math.min(first!.length, second!.length)).toBe(4 * 2 ** 20);
});

test('the group loop has a row for each group and one for what was consumed, and empties drained tables', async () => {
  const { client, dir } = await openLoop('group-loop');
  const { all, stop } = await consume(client, { consumers: 2, messages: 45_000 });
  const producer = await client.openProducer(book());
  const transaction = Array.from({ length: 500 }, (_, index) => Buffer.from(`0:${index}`));
  for (let index = 0; index < 90; index += 1) await producer.send(transaction);
  await all;
  await stop();
  const { syncs, rows } = client.written!();
  expect(rows).toBeGreaterThanOrEqual(syncs);
  expect(rows).toBeLessThanOrEqual(2 * syncs);
  await client.close();
  const file = new Database(join(dir, 'loop-1.db'), { readonly: true });
  const kept = [0, 1, 2, 3].map((part) =>
    file.prepare(`SELECT coalesce(sum(count), 0) FROM block_${part}`).pluck().get(),
  );
  file.close();
  // Two parts of 20,000 messages were drained; the last one is kept while it may be filled.
  expect(kept).toEqual([0, 0, 5_000, 0]);
}, 60_000);

const scenario = (systems: string[], schedule: string) =>
  programScenario({
    study: 'peers',
    program: 'closed-loop',
    systems,
    phases: { warmupMs: 50, measureMs: 300, drainMs: 5_000 },
    parameters: { payloadBytes: 64, operationsPerTransaction: 10, enqueuers: 3, dequeuers: 2, schedule },
  });

test('a run that has the loops says of other systems which share of them they reach, and what a message causes', async () => {
  const [log, group, sharded] = await runPoints(scenario(['log-loop', 'group-loop', 'sharded'], 'at-once'));
  for (const point of [log, group, sharded]) expect(point!.integrity).toMatchObject(wholeAndDrained);
  expect(Object.keys(log!.figures)).not.toContain('logLoopRatio');
  const { logLoopPerSec, logLoopRatio, enqueuePerSec } = sharded!.figures;
  expect(logLoopPerSec!.value).toBe(log!.figures.enqueuePerSec!.value);
  expect(logLoopRatio!.value).toBeCloseTo(enqueuePerSec!.value / logLoopPerSec!.value, 3);
  expect(Object.keys(sharded!.figures)).toContain('groupLoopRatio');
  for (const { figures, system } of [log!, group!, sharded!]) {
    // A group has at least one transaction of ten messages, or the acknowledgement of some.
    expect(figures.syncsPerMessage!.value, system).toBeGreaterThan(0);
    expect(figures.syncsPerMessage!.value, system).toBeLessThanOrEqual(0.3);
    expect(figures.heapBytesPerMessage!.value, system).toBeGreaterThan(0);
  }
  expect([log, group].map((point) => point!.figures.rowsPerMessage!.value > 0)).toEqual([false, true]);
}, 60_000);

test('the loops are refused where another process is to dequeue', () => {
  expect(parseScenario(scenario(['sharded', 'log-loop'], 'enqueue-then-dequeue'))).toMatchObject({
    faults: [{ path: '/parameters/schedule', message: expect.stringContaining('log-loop has its messages') }],
  });
  expect(parseScenario(scenario(['log-loop'], 'enqueue'))).toMatchObject({ ok: true });
});
