/** The queue API (design, section 7). Fields that the engine does not support yet are refused with 422. */
import Type, { type Static } from 'typebox';
import { Durability } from './scenario.ts';

const closed = { additionalProperties: false } as const;

export const QueueKind = Type.Union([Type.Literal('sharded'), Type.Literal('unsharded')]);
export type QueueKind = Static<typeof QueueKind>;

export const QueueType = Type.Union([
  Type.Literal('queue', { description: 'One consumer a message; the default' }),
  Type.Literal('topic', { description: 'Each subscriber gets it' }),
]);
export type QueueType = Static<typeof QueueType>;

export const queueLimits = {
  nameLengthMax: 64,
  payloadBytesMax: 1024 * 1024,
  messagesPerCallMax: 1_000,
  dequeueMax: 1_000,
  waitMsMax: 30_000,
  holdMsMin: 100,
  holdMsMax: 12 * 60 * 60_000,
  browseMax: 500,
  /** The most urgent; 0 is the default. */
  priorityMax: 9,
  delayMsMax: 400 * 24 * 60 * 60_000,
  attemptsMax: 1_000,
  retryDelayMsMax: 60 * 60_000,
  /** Of one queue in the message cache. */
  cacheBytesMax: 64 * 1024 ** 3,
  subscribersMax: 1_024,
  subscriberNameMax: 128,
} as const;

export const QueueName = Type.String({
  pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,63}$',
  description: 'A letter, then letters, digits, dots, dashes or underscores; at most 64',
});

export const SubscriberName = Type.String({
  minLength: 1,
  maxLength: queueLimits.subscriberNameMax,
  // It stands in addresses, where the other two would name a folder.
  pattern: '^(?!\\.{1,2}$)[^\\u0000]+$',
  description: 'Any characters but U+0000, and neither "." nor ".."',
});

export const CreateQueue = Type.Object(
  {
    name: QueueName,
    kind: Type.Optional(QueueKind),
    type: Type.Optional(QueueType),
    shards: Type.Optional(Type.Integer({ minimum: 1, maximum: 16, description: 'Shards on each instance' })),
    durability: Type.Optional(Durability),
    priorities: Type.Optional(
      Type.Boolean({ description: 'Messages have priorities, and a more urgent one overtakes' }),
    ),
    attemptsMax: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: queueLimits.attemptsMax,
        description: 'Hand-outs of a message before it moves to the exception queue; without it, no limit',
      }),
    ),
    retryDelayMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: queueLimits.retryDelayMsMax,
        description: 'Pause before a message that came back is handed out again, doubled each time',
      }),
    ),
    forwarding: Type.Optional(
      Type.Boolean({
        description:
          'Messages without a consumer on their instance move to instances where some wait; by default they do where they can: in a persistent sharded queue that is no topic',
      }),
    ),
    cacheBytesMin: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: queueLimits.cacheBytesMax,
        description: "Room in each instance's message cache that is kept for this queue; default 0",
      }),
    ),
    cacheBytesMax: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: queueLimits.cacheBytesMax,
        description: 'How much of the message cache it may fill; without it, what is free',
      }),
    ),
    correlationIndex: Type.Optional(
      Type.Boolean({
        description:
          'Its partitions get local indexes on correlation ids, for browsing by one; of a persistent sharded queue',
      }),
    ),
  },
  closed,
);
export type CreateQueue = Static<typeof CreateQueue>;

export const QueueInfo = Type.Object(
  {
    name: Type.String(),
    kind: QueueKind,
    type: QueueType,
    shards: Type.Integer(),
    durability: Durability,
    priorities: Type.Boolean(),
    attemptsMax: Type.Union([Type.Integer(), Type.Null()]),
    retryDelayMs: Type.Integer(),
    forwarding: Type.Boolean(),
    cacheBytesMin: Type.Integer(),
    cacheBytesMax: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: as much as is free' }),
    correlationIndex: Type.Boolean(),
    cacheBytes: Type.Integer({ description: 'What its messages have in the message caches' }),
    exceptionQueue: Type.Union([Type.String(), Type.Null()], {
      description: 'Gets what was handed out too often; null without a limit',
    }),
    enqueueEnabled: Type.Boolean(),
    dequeueEnabled: Type.Boolean(),
    ready: Type.Integer({ description: 'Of a topic: what its slowest subscriber has not consumed' }),
    held: Type.Integer(),
    delayed: Type.Integer({ description: 'Not due yet, or paused after they came back' }),
    enqueued: Type.Integer(),
    consumed: Type.Integer(),
    movedIn: Type.Integer({ description: 'Came from other instances' }),
    movedOut: Type.Integer({ description: 'Went to other instances' }),
    fault: Type.Optional(
      Type.Object(
        { code: Type.String(), message: Type.String() },
        { ...closed, description: 'In a list: why its counts are not known, and 0' },
      ),
    ),
  },
  closed,
);
export type QueueInfo = Static<typeof QueueInfo>;

/** Which half of a queue a start or stop call means; without a body, both. */
export const StartStop = Type.Object(
  { enqueue: Type.Optional(Type.Boolean()), dequeue: Type.Optional(Type.Boolean()) },
  closed,
);
export type StartStop = Static<typeof StartStop>;

export const NewMessage = Type.Object(
  {
    payload: Type.Optional(Type.Unknown({ description: 'Any JSON value; stored as its UTF-8 text' })),
    payloadBase64: Type.Optional(Type.String({ description: 'Bytes as base64; excludes payload' })),
    correlationId: Type.Optional(Type.String({ maxLength: 128 })),
    groupKey: Type.Optional(
      Type.String({ maxLength: 128, description: 'Messages of one key share a shard' }),
    ),
    properties: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: 1024 }), { maxProperties: 32 }),
    ),
    priority: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: queueLimits.priorityMax,
        description: '9 is the most urgent; only for a queue with priorities',
      }),
    ),
    delayMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: queueLimits.delayMsMax,
        description: 'It can be dequeued after so long',
      }),
    ),
    recipients: Type.Optional(
      Type.Array(SubscriberName, {
        minItems: 1,
        maxItems: queueLimits.subscribersMax,
        description: 'Of a topic: the subscribers that get it; without it, all',
      }),
    ),
  },
  closed,
);
export type NewMessage = Static<typeof NewMessage>;

export const Enqueue = Type.Object(
  {
    messages: Type.Array(NewMessage, { minItems: 1, maxItems: queueLimits.messagesPerCallMax }),
  },
  closed,
);
export type Enqueue = Static<typeof Enqueue>;

/** What stands in the address, since the body is the payload. */
export const EnqueueStreamQuery = Type.Object(
  {
    correlationId: NewMessage.properties.correlationId,
    groupKey: NewMessage.properties.groupKey,
    priority: NewMessage.properties.priority,
    delayMs: NewMessage.properties.delayMs,
    recipient: Type.Optional(
      Type.Union([SubscriberName, Type.Array(SubscriberName, { maxItems: queueLimits.subscribersMax })], {
        description: 'Of a topic: a subscriber that gets it, any number of times; without it, all',
      }),
    ),
    properties: Type.Optional(
      Type.String({ maxLength: 16 * 1024, description: 'A JSON object whose values are strings' }),
    ),
  },
  closed,
);
export type EnqueueStreamQuery = Static<typeof EnqueueStreamQuery>;

export const PayloadQuery = Type.Object(
  {
    receipt: Type.String({ maxLength: 200 }),
    ack: Type.Optional(
      Type.Boolean({ description: 'The message is consumed once all of its payload was sent' }),
    ),
  },
  closed,
);
export type PayloadQuery = Static<typeof PayloadQuery>;

export const Enqueued = Type.Object({ ids: Type.Array(Type.String()) }, closed);
export type Enqueued = Static<typeof Enqueued>;

export const Dequeue = Type.Object(
  {
    max: Type.Optional(Type.Integer({ minimum: 1, maximum: queueLimits.dequeueMax })),
    waitMs: Type.Optional(Type.Integer({ minimum: 0, maximum: queueLimits.waitMsMax })),
    mode: Type.Optional(
      Type.Union([Type.Literal('auto'), Type.Literal('manual')], {
        description:
          'auto: consumed before the answer is sent (at most once), but for messages with streamedBytes; manual: held until ack, nack or holdMs',
      }),
    ),
    holdMs: Type.Optional(Type.Integer({ minimum: queueLimits.holdMsMin, maximum: queueLimits.holdMsMax })),
    subscriber: Type.Optional(SubscriberName),
  },
  closed,
);
export type Dequeue = Static<typeof Dequeue>;

export const MessageOut = Type.Object(
  {
    id: Type.String(),
    payload: Type.Optional(Type.Unknown({ description: 'Present when the bytes were enqueued as JSON' })),
    payloadBase64: Type.Optional(Type.String({ description: 'Present when they were enqueued as bytes' })),
    streamedBytes: Type.Optional(
      Type.Integer({
        description:
          'Instead of either: the payload has so many bytes, too many for this answer; fetch it by receipt',
      }),
    ),
    correlationId: Type.Optional(Type.String()),
    groupKey: Type.Optional(Type.String()),
    properties: Type.Optional(Type.Record(Type.String(), Type.String())),
    priority: Type.Optional(Type.Integer({ description: 'Present unless it is 0' })),
    recipients: Type.Optional(Type.Array(Type.String())),
    enqueuedAtMs: Type.Integer(),
    deliveryCount: Type.Integer(),
    receipt: Type.Optional(Type.String()),
    state: Type.Optional(Type.Union([Type.Literal('ready'), Type.Literal('held'), Type.Literal('delayed')])),
    untilMs: Type.Optional(
      Type.Integer({ description: 'When a hold or a delay ends by itself; epoch milliseconds' }),
    ),
  },
  closed,
);
export type MessageOut = Static<typeof MessageOut>;

export const Dequeued = Type.Object({ messages: Type.Array(MessageOut) }, closed);
export type Dequeued = Static<typeof Dequeued>;

export const Receipts = Type.Object(
  {
    receipts: Type.Array(Type.String({ maxLength: 200 }), { minItems: 1, maxItems: queueLimits.dequeueMax }),
  },
  closed,
);
export type Receipts = Static<typeof Receipts>;

export const Extend = Type.Object(
  {
    ...Receipts.properties,
    holdMs: Type.Integer({ minimum: queueLimits.holdMsMin, maximum: queueLimits.holdMsMax }),
  },
  closed,
);
export type Extend = Static<typeof Extend>;

export const QueueList = Type.Object({ queues: Type.Array(QueueInfo) }, closed);
export type QueueList = Static<typeof QueueList>;

export const BrowseQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: queueLimits.browseMax })),
    after: Type.Optional(Type.String({ maxLength: 64, description: 'The `next` of the page before' })),
    subscriber: Type.Optional(SubscriberName),
    correlationId: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'Only messages that have it; without correlationIndex this reads the whole backlog',
      }),
    ),
  },
  closed,
);
export type BrowseQuery = Static<typeof BrowseQuery>;

export const Browsed = Type.Object(
  { messages: Type.Array(MessageOut), next: Type.Union([Type.String(), Type.Null()]) },
  closed,
);
export type Browsed = Static<typeof Browsed>;

export const Subscribe = Type.Object(
  {
    name: SubscriberName,
    durable: Type.Optional(
      Type.Boolean({
        description:
          'Default true: misses nothing while nobody dequeues for it; a nondurable one ends with its instance',
      }),
    ),
  },
  closed,
);
export type Subscribe = Static<typeof Subscribe>;

export const SubscriberInfo = Type.Object(
  {
    name: Type.String(),
    durable: Type.Boolean(),
    backlog: Type.Integer({
      description:
        'Messages committed and not consumed by it, held ones included; those for other recipients count until they are passed over',
    }),
    held: Type.Integer(),
    lagMs: Type.Number({ description: 'Age of its oldest message that waits; 0 if none does' }),
  },
  closed,
);
export type SubscriberInfo = Static<typeof SubscriberInfo>;

export const SubscriberList = Type.Object({ subscribers: Type.Array(SubscriberInfo) }, closed);
export type SubscriberList = Static<typeof SubscriberList>;
