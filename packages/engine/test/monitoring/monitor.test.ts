/** When samples are written: about once a second while something changes, and never while nothing does. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { WaitRecorder } from '../../src/core/waits.ts';
import type { GroupCommit } from '../../src/instance/group-commit.ts';
import { MessageCache } from '../../src/instance/message-cache.ts';
import { Monitor } from '../../src/instance/monitoring/monitor.ts';
import { ShardedQueue } from '../../src/instance/sharded-queue.ts';
import type { QueueRow } from '../../src/storage/catalog.ts';
import type { Sample } from '../../src/storage/sample-table.ts';

const row: QueueRow = {
  queueId: 1,
  name: 'orders',
  kind: 'sharded',
  type: 'queue',
  shards: 1,
  durability: 'memory',
  priorities: false,
  attemptsMax: null,
  retryDelayMs: 0,
  forwarding: false,
  cacheBytesMin: 0,
  cacheBytesMax: null,
  correlationIndex: false,
  exceptionQueueId: null,
  enqueueEnabled: true,
  dequeueEnabled: true,
};

function setUp() {
  const queue = new ShardedQueue({
    row,
    instance: 1,
    cache: new MessageCache(1_000),
    waits: new WaitRecorder(),
    partitionMessagesMax: 10,
    epoch: 1,
    recovered: new Map(),
  });
  const samples: Sample[] = [];
  const failing = { now: false };
  const group = {
    groups: 0,
    async submit({ side }: { side(): { sample: Sample }[] }) {
      if (failing.now) throw new Error('no room');
      group.groups += 1;
      samples.push(...side().map(({ sample }) => sample));
    },
  };
  const monitor = new Monitor({
    epoch: 1,
    sampleMs: 1_000,
    group: group as unknown as GroupCommit,
    queues: () => [queue],
    instanceSample: () => ({ instance: 1, commits: 0, groups: 0, cacheBytes: 0, cacheBytesMax: 1 }),
  });
  const enqueue = (count: number) => {
    queue.firstShard.committedEnd += count;
  };
  return { monitor, samples, failing, group, enqueue, queue };
}

describe('samples', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('are written each second while something changes, and then never', async () => {
    const { samples, enqueue, monitor } = setUp();
    for (let second = 0; second < 5; second += 1) {
      enqueue(10);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(samples).toHaveLength(5);
    await vi.advanceTimersByTimeAsync(2 * limits.rateWindowMs + 1_000);
    const settled = samples.length;
    expect(settled, 'the window of the rates goes on twice').toBeLessThanOrEqual(7);
    expect(samples.at(-1)!.rows.shard).toMatchObject([{ enqueued: 50, windowIn: 0 }]);
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    expect(samples).toHaveLength(settled);
    await monitor.close();
  });

  it('hold only the rows that changed', async () => {
    const { samples, enqueue } = setUp();
    enqueue(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(samples[0]!.rows.queue).toHaveLength(1);
    enqueue(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(samples[1]!.rows).toMatchObject({ queue: [], partition: [] });
    expect(samples[1]!.rows.shard).toHaveLength(1);
  });

  it('that could not be written are written again once another commit went well', async () => {
    const { samples, enqueue, failing, group } = setUp();
    failing.now = true;
    enqueue(1);
    await vi.advanceTimersByTimeAsync(10_000);
    failing.now = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(samples).toEqual([]);
    group.groups += 1;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(samples[0]!.rows.queue).toHaveLength(1);
    expect(samples[0]!.rows.shard).toMatchObject([{ enqueued: 1 }]);
  });

  it('leave out what was dropped before they are written', async () => {
    const { samples, enqueue, queue } = setUp();
    enqueue(1);
    queue.firstShard.dropped = true;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(samples[0]!.rows).toEqual({ queue: [], shard: [], subscriber: [], partition: [] });
  });

  it('are written at the end, so that a closed file is exact', async () => {
    const { samples, enqueue, monitor } = setUp();
    await vi.advanceTimersByTimeAsync(1_000);
    enqueue(3);
    await monitor.close();
    expect(samples.at(-1)!.rows.shard).toMatchObject([{ enqueued: 3 }]);
    enqueue(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(samples).toHaveLength(2);
  });
});
