/** What is to be seen of a queue: the figures of the views in the files, as of now (`docs/monitoring.md`). */
import Type, { type Static } from 'typebox';
import { QueueKind, QueueType } from './queue.ts';

const closed = { additionalProperties: false } as const;
const nullable = <T extends Type.TSchema>(type: T, description: string) =>
  Type.Union([type, Type.Null()], { description });

export const DrainState = Type.Union(
  [Type.Literal('empty'), Type.Literal('draining'), Type.Literal('growing'), Type.Literal('standing')],
  { description: 'standing: as many come as go, or none does either' },
);
export type DrainState = Static<typeof DrainState>;

const flow = {
  depth: Type.Integer({
    description: 'Committed and not consumed; of a topic, before the subscriber that has most before it',
  }),
  ready: Type.Integer(),
  held: Type.Integer(),
  windowMs: Type.Number({ description: 'Over which the rates are counted' }),
  enqueuePerSec: Type.Number(),
  dequeuePerSec: Type.Number(),
  drainState: DrainState,
  drainMs: nullable(Type.Number(), 'Until it is empty at these rates; null unless it drains'),
  drainMsWithoutEnqueues: nullable(Type.Number(), 'The same if nothing more came; null if nothing goes'),
};

const cacheCounts = {
  hits: Type.Integer({
    description: 'First hand-outs of messages that stayed in the cache since their commit',
  }),
  misses: Type.Integer({
    description: 'First hand-outs of messages that were read back from their partition',
  }),
  evictions: Type.Integer({
    description: 'Messages that had no place in the cache when they were committed',
  }),
};

export const PartitionState = Type.Union([
  Type.Literal('filling'),
  Type.Literal('full'),
  Type.Literal('drained'),
  Type.Literal('damaged'),
]);
export type PartitionState = Static<typeof PartitionState>;

export const FlowFigures = Type.Object(flow, closed);
export type FlowFigures = Static<typeof FlowFigures>;

export const ShardFigures = Type.Object(
  {
    ...flow,
    shard: Type.Integer(),
    priority: Type.Integer(),
    paused: Type.Integer({ description: 'Came back, and wait for their retry delay' }),
    enqueued: Type.Integer({
      description:
        'Since the queue was made, with those that came from other instances; consumed: with those that went',
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
export type ShardFigures = Static<typeof ShardFigures>;

export const SubscriberFigures = Type.Object(
  {
    ...flow,
    shard: Type.Integer(),
    subscriber: nullable(Type.String(), 'null: the one consumer of a queue'),
    durable: Type.Boolean(),
    paused: Type.Integer(),
    watermark: Type.Integer({ description: 'Messages below are consumed by it, or not for it' }),
    position: Type.Integer({ description: 'Messages below were handed out to it at least once' }),
    dequeued: Type.Integer({ description: 'Committed dequeues since the instance opened' }),
    lastDequeueAtMs: nullable(
      Type.Integer(),
      'Epoch milliseconds, to the second; null: none since it opened',
    ),
    oldestReadyAtMs: nullable(
      Type.Integer(),
      'When its oldest message that waits in the cache was enqueued; null if none does',
    ),
    cache: Type.Object(cacheCounts, closed),
  },
  closed,
);
export type SubscriberFigures = Static<typeof SubscriberFigures>;

export const PartitionFigures = Type.Object(
  {
    partition: Type.Integer(),
    shard: Type.Integer(),
    state: PartitionState,
    firstSeq: Type.Integer(),
    messages: Type.Integer(),
    terminal: Type.Integer({ description: 'Consumed by everyone' }),
    bytes: Type.Integer(),
    fill: Type.Number({ description: 'Share of its room in use, 0 to 1' }),
  },
  closed,
);
export type PartitionFigures = Static<typeof PartitionFigures>;

export const QueueTotals = Type.Object(
  {
    ...flow,
    delayed: Type.Integer({ description: 'Not due yet, or paused after they came back' }),
    enqueued: Type.Integer(),
    consumed: Type.Integer(),
    movedIn: Type.Integer({ description: 'From and to other instances, since the queue was made' }),
    movedOut: Type.Integer(),
  },
  closed,
);
export type QueueTotals = Static<typeof QueueTotals>;

export const QueueStats = Type.Object(
  {
    queue: Type.String(),
    kind: QueueKind,
    type: QueueType,
    asOfMs: Type.Integer({ description: 'When the first of the instances was asked; epoch milliseconds' }),
    total: QueueTotals,
    instances: Type.Array(
      Type.Object(
        {
          instance: Type.Integer(),
          asOfMs: Type.Integer(),
          total: QueueTotals,
          shards: Type.Array(ShardFigures),
          subscribers: Type.Array(SubscriberFigures, {
            description: 'For each shard; up to 1,000, those with the most messages before them first',
          }),
          partitions: Type.Array(PartitionFigures, {
            description: 'Up to 1,000, the oldest of each shard first; the shards count them all',
          }),
        },
        closed,
      ),
      { description: 'Those that answer; of an unsharded queue one, for they share its file' },
    ),
  },
  closed,
);
export type QueueStats = Static<typeof QueueStats>;
