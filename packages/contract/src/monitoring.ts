/** The metrics of a queue at this moment; SQL views in the files show the same (`docs/monitoring.md`). */
import Type, { type Static } from 'typebox';
import { QueueKind, QueueType } from './queue.ts';

const closed = { additionalProperties: false } as const;
const nullable = <T extends Type.TSchema>(type: T, description: string) =>
  Type.Union([type, Type.Null()], { description });

export const DrainState = Type.Union(
  [Type.Literal('empty'), Type.Literal('draining'), Type.Literal('growing'), Type.Literal('steady')],
  { description: 'steady: the backlog neither grows nor shrinks' },
);
export type DrainState = Static<typeof DrainState>;

const flow = {
  depth: Type.Integer({
    description:
      'Messages committed and not consumed; of a topic, for the subscriber that is furthest behind',
  }),
  ready: Type.Integer(),
  held: Type.Integer(),
  windowMs: Type.Number({ description: 'The period over which the rates are measured' }),
  enqueuePerSec: Type.Number(),
  dequeuePerSec: Type.Number(),
  drainState: DrainState,
  drainMs: nullable(
    Type.Number(),
    'Time until the queue is empty at these rates; null unless it is draining',
  ),
  drainMsWithoutEnqueues: nullable(
    Type.Number(),
    'The same if nothing more were enqueued; null if nothing is being dequeued',
  ),
};

const cacheCounts = {
  hits: Type.Integer({
    description: 'First deliveries of messages that stayed in the cache since their commit',
  }),
  misses: Type.Integer({
    description: 'First deliveries of messages that were read back from their partition',
  }),
  evictions: Type.Integer({
    description: 'Messages that did not fit into the cache when they were committed',
  }),
};

export const PartitionState = Type.Union([
  Type.Literal('filling'),
  Type.Literal('full'),
  Type.Literal('drained'),
  Type.Literal('damaged'),
]);
export type PartitionState = Static<typeof PartitionState>;

export const FlowMetrics = Type.Object(flow, closed);
export type FlowMetrics = Static<typeof FlowMetrics>;

export const ShardMetrics = Type.Object(
  {
    ...flow,
    shard: Type.Integer(),
    priority: Type.Integer(),
    paused: Type.Integer({ description: 'Returned messages that wait for their retry delay' }),
    enqueued: Type.Integer({
      description:
        'Since the queue was created. Includes messages forwarded from other instances; `consumed` includes those forwarded to them',
    }),
    consumed: Type.Integer(),
    cache: Type.Object({ bytes: Type.Integer(), ...cacheCounts }, closed),
    partitions: Type.Object(
      { filling: Type.Integer(), full: Type.Integer(), drained: Type.Integer(), damaged: Type.Integer() },
      closed,
    ),
  },
  closed,
);
export type ShardMetrics = Static<typeof ShardMetrics>;

export const SubscriberMetrics = Type.Object(
  {
    ...flow,
    shard: Type.Integer(),
    subscriber: nullable(Type.String(), 'null for a queue, which has no subscribers'),
    durable: Type.Boolean(),
    paused: Type.Integer(),
    watermark: Type.Integer({
      description: 'All messages below are consumed by this subscriber, or were not addressed to it',
    }),
    position: Type.Integer({
      description: 'All messages below were delivered to this subscriber at least once',
    }),
    dequeued: Type.Integer({ description: 'Committed dequeues since the instance opened' }),
    lastDequeueAtMs: nullable(
      Type.Integer(),
      'Epoch milliseconds, precise to the second; null if there was none since the instance opened',
    ),
    oldestReadyAtMs: nullable(
      Type.Integer(),
      'When the oldest ready message in the cache was enqueued; null if there is none',
    ),
    cache: Type.Object(cacheCounts, closed),
  },
  closed,
);
export type SubscriberMetrics = Static<typeof SubscriberMetrics>;

export const PartitionMetrics = Type.Object(
  {
    partition: Type.Integer(),
    shard: Type.Integer(),
    state: PartitionState,
    firstSeq: Type.Integer(),
    messages: Type.Integer(),
    terminal: Type.Integer({ description: 'Messages that are consumed by every subscriber' }),
    bytes: Type.Integer(),
    fill: Type.Number({ description: 'Share of its capacity in use, 0 to 1' }),
  },
  closed,
);
export type PartitionMetrics = Static<typeof PartitionMetrics>;

export const QueueTotals = Type.Object(
  {
    ...flow,
    delayed: Type.Integer({ description: 'Messages that are not due yet, or wait for their retry delay' }),
    enqueued: Type.Integer(),
    consumed: Type.Integer(),
    forwardedIn: Type.Integer({
      description:
        'Messages forwarded from other instances since the queue was created; forwardedOut: to other instances',
    }),
    forwardedOut: Type.Integer(),
    refused: Type.Integer({
      description:
        'Messages that flow control refused since the instances opened; it compares depth with messagesMax',
    }),
    lost: Type.Integer({
      description:
        'Messages of a nonpersistent queue that were in memory when its instances last stopped; after a kill, as of their last sample',
    }),
  },
  closed,
);
export type QueueTotals = Static<typeof QueueTotals>;

export const QueueStats = Type.Object(
  {
    queue: Type.String(),
    kind: QueueKind,
    type: QueueType,
    asOfMs: Type.Integer({ description: 'When the first instance was read; epoch milliseconds' }),
    total: QueueTotals,
    instances: Type.Array(
      Type.Object(
        {
          instance: Type.Integer(),
          asOfMs: Type.Integer(),
          total: QueueTotals,
          shards: Type.Array(ShardMetrics),
          subscribers: Type.Array(SubscriberMetrics, {
            description: 'One entry per shard and subscriber; at most 1,000, the largest backlog first',
          }),
          partitions: Type.Array(PartitionMetrics, {
            description: 'At most 1,000, the oldest of each shard first; `shards` counts all of them',
          }),
        },
        closed,
      ),
      {
        description:
          'The instances that responded; for an unsharded queue only one, because all share its file',
      },
    ),
  },
  closed,
);
export type QueueStats = Static<typeof QueueStats>;
