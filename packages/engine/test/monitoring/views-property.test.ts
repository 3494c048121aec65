/** After any commands the views of a closed file agree with its tables (invariant 12). */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Instance, openInstance, type QueueStats } from '../../src/index.ts';
import { makeFolder } from '../folder.ts';
import { isTorture } from '../random.ts';
import { countTables } from './count-tables.ts';
import { readView } from './read-views.ts';

type Command =
  | { do: 'put'; queue: 'orders' | 'news'; count: number }
  | {
      do: 'take';
      queue: 'orders' | 'news';
      max: number;
      subscriber: string;
      end: 'commit' | 'rollback' | 'hold';
    }
  | { do: 'subscribe'; subscriber: string }
  | { do: 'unsubscribe'; subscriber: string }
  | { do: 'reopen' };

const subscriber = fc.constantFrom('a', 'b');
const queue = fc.constantFrom('orders' as const, 'news' as const);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('put'), queue, count: fc.integer({ min: 1, max: 9 }) }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('take'),
      queue,
      max: fc.integer({ min: 1, max: 12 }),
      subscriber,
      end: fc.constantFrom('commit', 'commit', 'rollback', 'hold'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('subscribe', 'unsubscribe'), subscriber }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen') }) },
) as fc.Arbitrary<Command>;

async function run(instance: Instance, command: Exclude<Command, { do: 'reopen' }>): Promise<void> {
  const names = instance.subscribers('news').map(({ name }) => name);
  if (command.do === 'subscribe') {
    await instance.subscribe('news', { name: command.subscriber });
    return;
  }
  if (command.do === 'unsubscribe') {
    if (names.includes(command.subscriber)) await instance.unsubscribe('news', command.subscriber);
    return;
  }
  const session = instance.openSession();
  if (command.do === 'put') {
    for (let i = 0; i < command.count; i += 1) session.enqueue(command.queue, { payload: `${i}` });
    await session.commit();
    return;
  }
  const isTopic = command.queue === 'news';
  if (isTopic && !names.includes(command.subscriber)) return;
  await session.dequeue(command.queue, {
    max: command.max,
    ...(isTopic ? { subscriber: command.subscriber } : {}),
  });
  if (command.end === 'commit') await session.commit();
  if (command.end === 'rollback') await session.rollback();
}

function check(dir: string, stats: readonly QueueStats[]): void {
  const tables = countTables(dir);
  const subscribers = readView(dir, 'shardlab_subscribers');
  for (const row of subscribers) {
    const depth = tables.depth(row.queue_id as number, row.shard as number, row.subscriber_id as number);
    expect(row).toMatchObject({ depth, ready: depth, held: 0, paused: 0 });
  }
  for (const row of readView(dir, 'shardlab_shards')) {
    const cursors = subscribers.filter(
      ({ queue_id, shard }) => queue_id === row.queue_id && shard === row.shard,
    );
    const depth = Math.max(0, ...cursors.map((cursor) => cursor.depth as number));
    expect(row).toMatchObject({ depth, held: 0 });
    expect(row.enqueued).toBe(depth + (row.consumed as number));
    const said = stats
      .find(({ queue: name }) => name === row.queue)!
      .shards.find(({ shard }) => shard === row.shard);
    expect(row).toMatchObject({ depth: said!.depth, enqueued: said!.enqueued, consumed: said!.consumed });
  }
  for (const row of readView(dir, 'shardlab_queues')) {
    const { total } = stats.find(({ queue: name }) => name === row.queue)!;
    expect(row).toMatchObject({ depth: total.depth, enqueued: total.enqueued, consumed: total.consumed });
  }
  const partitions = readView(dir, 'shardlab_partitions');
  expect(partitions.filter(({ state }) => state === 'free')).toHaveLength(tables.free);
  expect(partitions).toHaveLength(tables.free + tables.partitions.length);
  for (const { partition, seqs, bytes, queueId, shard } of tables.partitions) {
    const cursors = subscribers.filter((row) => row.queue_id === queueId && row.shard === shard);
    const seen = partitions.find((row) => row.partition === partition)!;
    expect(seen).toMatchObject({
      messages: seqs.size,
      terminal: tables.terminal(
        partition,
        cursors.map((row) => row.subscriber_id as number),
      ),
    });
    // Messages that were consumed before they were applied have no bytes in the table.
    expect(seen.bytes).toBeGreaterThanOrEqual(bytes);
  }
}

it('the views of a file agree with its tables and with the statistics of the instance', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40 }), async (commands) => {
      const dir = makeFolder();
      // Samples are frequent, so that most rows are not written again at the close.
      const open = () => openInstance({ dir, partitionMessagesMax: 6, sampleIntervalMs: 10 });
      let instance = await open();
      try {
        await instance.createQueue({ name: 'orders', shards: 2 });
        await instance.createQueue({ name: 'news', type: 'topic' });
        await instance.subscribe('news', { name: 'a' });
        for (const each of [...commands, { do: 'reopen' } as const]) {
          if (each.do !== 'reopen') {
            await run(instance, each);
            continue;
          }
          const stats = ['orders', 'news'].map((name) => instance.queueStats(name));
          await instance.close();
          check(dir, stats);
          instance = await open();
        }
      } finally {
        await instance.close();
      }
    }),
    { numRuns: isTorture ? 20 : 5 },
  );
});
