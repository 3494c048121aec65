/** Samples are written about once a second while something changes, and none while nothing does. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import type { GroupCommit } from '../../src/commit/group-commit.ts';
import { MessageCache } from '../../src/log/message-cache.ts';
import type { QueueRow } from '../../src/model/queue-row.ts';
import type { Sample } from '../../src/model/sample.ts';
import { WaitRecorder } from '../../src/model/wait-recorder.ts';
import { MetricsSampler } from '../../src/monitoring/metrics-sampler.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { ShardedQueue } from '../../src/queues/sharded-queues.ts';
import { ManualPorts } from '../support/manual-ports.ts';

const row: QueueRow = {
  queueId: 1,
  name: 'orders',
  kind: 'sharded',
  type: 'queue',
  shards: 1,
  durability: 'memory',
  visibility: 'commit',
  messagesMax: null,
  priorities: false,
  attemptsMax: null,
  attemptsCounted: 'on-return',
  retryDelayMs: 0,
  retentionMs: 0,
  forwarding: false,
  cacheBytesMin: 0,
  cacheBytesMax: null,
  correlationIndex: false,
  temporarySubscribers: false,
  exceptionQueueId: null,
  enqueueEnabled: true,
  dequeueEnabled: true,
};

function setUp() {
  const queue = new ShardedQueue({
    row,
    instance: 1,
    cache: new MessageCache(1_000),
    waits: new WaitRecorder({ clock: nodePorts.clock }),
    ports: nodePorts,
    partitionMessagesMax: 10,
    epoch: 1,
    recovered: new Map(),
    lostMessages: new Map(),
  });
  const samples: Sample[] = [];
  const failing = { now: false };
  const group = {
    groups: 0,
    async write({ onClose }: { onClose(): { sample: Sample }[] }) {
      if (failing.now) throw new Error('disk full');
      group.groups += 1;
      samples.push(...onClose().map(({ sample }) => sample));
    },
  };
  const ports = new ManualPorts();
  const sampler = new MetricsSampler({
    epoch: 1,
    sampleMs: 1_000,
    ports,
    group: group as unknown as GroupCommit,
    queues: () => [queue],
    instanceSample: () => ({ instance: 1, commits: 0, groups: 0, cacheBytes: 0, cacheBytesMax: 1 }),
  });
  const enqueue = (count: number) => {
    queue.firstLog.committedEndSeq += count;
  };
  return { ports, sampler, samples, failing, group, enqueue, queue };
}

describe('samples', () => {
  it('are written each second while something changes, and then no more', async () => {
    const { ports, samples, enqueue, sampler } = setUp();
    for (let second = 0; second < 5; second += 1) {
      enqueue(10);
      await ports.advance(1_000);
    }
    expect(samples).toHaveLength(5);
    await ports.advance(2 * limits.rateWindowMs + 1_000);
    const settled = samples.length;
    expect(settled, 'the rate window advances twice more').toBeLessThanOrEqual(7);
    expect(samples.at(-1)!.rows.shard).toMatchObject([{ enqueued: 50, windowIn: 0 }]);
    await ports.advance(60 * 60_000);
    expect(samples).toHaveLength(settled);
    await sampler.close();
  });

  it('hold only the rows that changed', async () => {
    const { ports, samples, enqueue } = setUp();
    enqueue(1);
    await ports.advance(1_000);
    expect(samples[0]!.rows.queue).toHaveLength(1);
    enqueue(1);
    await ports.advance(1_000);
    expect(samples[1]!.rows).toMatchObject({ queue: [], partition: [] });
    expect(samples[1]!.rows.shard).toHaveLength(1);
  });

  it('that could not be written are written again once another commit has succeeded', async () => {
    const { ports, samples, enqueue, failing, group } = setUp();
    failing.now = true;
    enqueue(1);
    await ports.advance(10_000);
    failing.now = false;
    await ports.advance(10_000);
    expect(samples).toEqual([]);
    group.groups += 1;
    await ports.advance(1_000);
    expect(samples[0]!.rows.queue).toHaveLength(1);
    expect(samples[0]!.rows.shard).toMatchObject([{ enqueued: 1 }]);
  });

  it('leave out queues that were dropped before the sample is written', async () => {
    const { ports, samples, enqueue, queue } = setUp();
    enqueue(1);
    queue.firstLog.dropped = true;
    await ports.advance(1_000);
    expect(samples[0]!.rows).toEqual({ queue: [], shard: [], subscriber: [], partition: [] });
  });

  it('are written at the close, so that the figures of a closed file are exact', async () => {
    const { ports, samples, enqueue, sampler } = setUp();
    await ports.advance(1_000);
    enqueue(3);
    await sampler.close();
    expect(samples.at(-1)!.rows.shard).toMatchObject([{ enqueued: 3 }]);
    enqueue(1);
    await ports.advance(60_000);
    expect(samples).toHaveLength(2);
  });
});
