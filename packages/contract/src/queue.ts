/** The queue API. Fields that the engine does not support yet are refused with 422. */
import Type, { type Static } from 'typebox';
import { Durability } from './scenario.ts';

const closed = { additionalProperties: false } as const;

export const QueueKind = Type.Union([
  Type.Literal('sharded'),
  Type.Literal('unsharded'),
  Type.Literal('unsharded-grouped'),
]);
export type QueueKind = Static<typeof QueueKind>;

export const QueueType = Type.Union([
  Type.Literal('queue', { description: 'Each message has one consumer; the default' }),
  Type.Literal('topic', { description: 'Each subscriber receives every message' }),
]);
export type QueueType = Static<typeof QueueType>;

export const Visibility = Type.Union([
  Type.Literal('commit', { description: 'Messages are visible with their commit; the default' }),
  Type.Literal('immediate', {
    description:
      'A buffered queue: messages are in memory only, visible and consumed at once; durability must be memory',
  }),
]);
export type Visibility = Static<typeof Visibility>;

export const queueLimits = {
  nameLengthMax: 64,
  payloadBytesMax: 1024 * 1024,
  /** Correlation id and group key, as UTF-8. */
  keyBytesMax: 512,
  propertiesMax: 64,
  /** All properties of a message, as JSON. */
  propertiesBytesMax: 64 * 1024,
  /** Characters in a query, whose URL and headers have 16 KiB together: with all else that a query can have, they fit. */
  queryPropertiesMax: 8 * 1024,
  queryRecipientsMax: 32,
  messagesPerCallMax: 1_000,
  dequeueMax: 1_000,
  waitMsMax: 30_000,
  holdMsMin: 10,
  holdMsMax: 7 * 24 * 60 * 60_000,
  browseMax: 500,
  /** 9 is the most urgent priority, 0 the default. */
  priorityMax: 9,
  delayMsMax: 400 * 24 * 60 * 60_000,
  attemptsMax: 1_000,
  retryDelayMsMax: 60 * 60_000,
  /** One queue's share of the message cache. */
  cacheBytesMax: 64 * 1024 ** 3,
  /** Undelivered messages of a buffered queue. */
  undeliveredMax: 10_000_000,
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
  // The name is part of URLs, where "." and ".." would be resolved as path segments.
  pattern: '^(?!\\.{1,2}$)[^\\u0000]+$',
  description: 'Any characters except U+0000; neither "." nor ".."',
});

export const CreateQueue = Type.Object(
  {
    name: QueueName,
    kind: Type.Optional(QueueKind),
    type: Type.Optional(QueueType),
    shards: Type.Optional(Type.Integer({ minimum: 1, maximum: 16, description: 'Shards per instance' })),
    durability: Type.Optional(Durability),
    visibility: Type.Optional(Visibility),
    messagesMax: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: queueLimits.undeliveredMax,
        description:
          'Flow control of a buffered queue: past this many undelivered messages on an instance an enqueue is refused with ENQUEUE_RATE_TOO_HIGH; default 5,000',
      }),
    ),
    priorities: Type.Optional(
      Type.Boolean({ description: 'Whether more urgent messages are delivered first' }),
    ),
    attemptsMax: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: queueLimits.attemptsMax,
        description: 'Deliveries of a message before it moves to the exception queue; no limit by default',
      }),
    ),
    retryDelayMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: queueLimits.retryDelayMsMax,
        description: 'Pause before a returned message is delivered again; doubles with each delivery',
      }),
    ),
    forwarding: Type.Optional(
      Type.Boolean({
        description:
          'Whether messages without a consumer on their instance are forwarded to instances where consumers wait. By default on for persistent sharded queues, off for topics and all others',
      }),
    ),
    cacheBytesMin: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: queueLimits.cacheBytesMax,
        description: "Bytes of each instance's message cache that are reserved for this queue; default 0",
      }),
    ),
    cacheBytesMax: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: queueLimits.cacheBytesMax,
        description: 'Bytes of the message cache that this queue may use; by default whatever is free',
      }),
    ),
    correlationIndex: Type.Optional(
      Type.Boolean({
        description:
          'Whether each partition has a local index on correlation ids, which makes browsing by one fast; persistent sharded queues only',
      }),
    ),
  },
  {
    ...closed,
    description:
      'Settings depend on each other: a topic is sharded; an unsharded queue is not in memory and has no priorities, attemptsMax, retryDelayMs or cache; attemptsMax, forwarding and correlationIndex need a queue that is not in memory; with attemptsMax the name has at most 53 characters; forwarding and correlationIndex need a sharded queue, forwarding one that is no topic; cacheBytesMin is at most cacheBytesMax. Else 422',
  },
);
export type CreateQueue = Static<typeof CreateQueue>;

export const QueueInfo = Type.Object(
  {
    name: Type.String(),
    kind: QueueKind,
    type: QueueType,
    shards: Type.Integer(),
    durability: Durability,
    visibility: Visibility,
    messagesMax: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: without flow control' }),
    priorities: Type.Boolean(),
    attemptsMax: Type.Union([Type.Integer(), Type.Null()]),
    retryDelayMs: Type.Integer(),
    forwarding: Type.Boolean(),
    cacheBytesMin: Type.Integer(),
    cacheBytesMax: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: whatever is free' }),
    correlationIndex: Type.Boolean(),
    cacheBytes: Type.Integer({ description: 'Bytes that its messages use in the message caches' }),
    exceptionQueue: Type.Union([Type.String(), Type.Null()], {
      description: 'Receives messages that were delivered attemptsMax times; null without that limit',
    }),
    enqueueEnabled: Type.Boolean(),
    dequeueEnabled: Type.Boolean(),
    ready: Type.Integer({
      description: 'For a topic: messages that its slowest subscriber has not consumed',
    }),
    held: Type.Integer(),
    delayed: Type.Integer({ description: 'Not due yet, or paused after they came back' }),
    enqueued: Type.Integer(),
    consumed: Type.Integer(),
    forwardedIn: Type.Integer({ description: 'Messages forwarded from other instances' }),
    forwardedOut: Type.Integer({ description: 'Messages forwarded to other instances' }),
    refused: Type.Integer({
      description: 'Messages that flow control refused since the instances opened',
    }),
    lost: Type.Integer({
      description:
        'Messages of a nonpersistent queue that were in memory when its instances last stopped; after a kill, as of their last sample',
    }),
    fault: Type.Optional(
      Type.Object(
        { code: Type.String(), message: Type.String() },
        { ...closed, description: 'In a list: why the counts could not be read, and are given as 0' },
      ),
    ),
  },
  closed,
);
export type QueueInfo = Static<typeof QueueInfo>;

/** Whether a start or stop call concerns enqueue or dequeue; both if there is no body. */
export const StartStop = Type.Object(
  { enqueue: Type.Optional(Type.Boolean()), dequeue: Type.Optional(Type.Boolean()) },
  closed,
);
export type StartStop = Static<typeof StartStop>;

/** The only text for these bytes: with padding, and with zeros in bits that encode nothing. */
export const Base64 = Type.String({
  pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$',
  contentEncoding: 'base64',
  description: 'Bytes as base64, with padding',
});

const PropertyName = Type.String({ pattern: '^(?!shardlab-)' });

/** In `oneOf`: objects with this field. */
const hasField = (name: string) => ({ required: [name], properties: { [name]: {} } });

export const NewMessage = Type.Object(
  {
    payload: Type.Optional(
      Type.Unknown({ description: 'Any JSON value; stored, and delivered, as the text that was sent' }),
    ),
    payloadBase64: Type.Optional(Base64),
    correlationId: Type.Optional(
      Type.String({
        maxLength: queueLimits.keyBytesMax,
        description: `At most ${queueLimits.keyBytesMax} bytes as UTF-8`,
      }),
    ),
    groupKey: Type.Optional(
      Type.String({
        maxLength: queueLimits.keyBytesMax,
        description: `Messages with the same key go to the same shard; at most ${queueLimits.keyBytesMax} bytes as UTF-8`,
      }),
    ),
    properties: Type.Optional(
      Type.Record(PropertyName, Type.String({ maxLength: queueLimits.propertiesBytesMax }), {
        ...closed,
        maxProperties: queueLimits.propertiesMax,
        description: `At most ${queueLimits.propertiesBytesMax} bytes as JSON; names that begin with "shardlab-" are reserved`,
      }),
    ),
    priority: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: queueLimits.priorityMax,
        description: '9 is the most urgent; only for queues with priorities',
      }),
    ),
    delayMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: queueLimits.delayMsMax,
        description: 'The message can be dequeued after this time',
      }),
    ),
    recipients: Type.Optional(
      Type.Array(SubscriberName, {
        minItems: 1,
        maxItems: queueLimits.subscribersMax,
        description: 'For a topic: the subscribers that receive the message; all by default',
      }),
    ),
  },
  {
    ...closed,
    oneOf: [hasField('payload'), hasField('payloadBase64')],
    description: 'Has either payload or payloadBase64',
  },
);
export type NewMessage = Static<typeof NewMessage>;

export const Enqueue = Type.Object(
  {
    messages: Type.Array(NewMessage, { minItems: 1, maxItems: queueLimits.messagesPerCallMax }),
  },
  closed,
);
export type Enqueue = Static<typeof Enqueue>;

/** Properties of the message are query parameters here, because the body is the payload. */
export const EnqueueStreamQuery = Type.Object(
  {
    correlationId: NewMessage.properties.correlationId,
    groupKey: NewMessage.properties.groupKey,
    priority: NewMessage.properties.priority,
    delayMs: NewMessage.properties.delayMs,
    recipient: Type.Optional(
      Type.Union(
        [
          SubscriberName,
          Type.Array(SubscriberName, { minItems: 1, maxItems: queueLimits.queryRecipientsMax }),
        ],
        {
          description: 'For a topic: a subscriber that receives the message; may be repeated; all by default',
        },
      ),
    ),
    properties: Type.Optional(
      Type.String({
        maxLength: queueLimits.queryPropertiesMax,
        contentMediaType: 'application/json',
        description: 'A JSON object whose values are strings; names that begin with "shardlab-" are reserved',
      }),
    ),
  },
  closed,
);
export type EnqueueStreamQuery = Static<typeof EnqueueStreamQuery>;

/** Reading a payload changes nothing: the client acknowledges the receipt once it has what it needs. */
export const PayloadQuery = Type.Object({ receipt: Type.String({ maxLength: 200 }) }, closed);
export type PayloadQuery = Static<typeof PayloadQuery>;

export const Enqueued = Type.Object({ ids: Type.Array(Type.String()) }, closed);
export type Enqueued = Static<typeof Enqueued>;

export const Dequeue = Type.Object(
  {
    max: Type.Optional(Type.Integer({ minimum: 1, maximum: queueLimits.dequeueMax })),
    waitMs: Type.Optional(Type.Integer({ minimum: 0, maximum: queueLimits.waitMsMax })),
    mode: Type.Optional(
      Type.Union([Type.Literal('at-most-once'), Type.Literal('manual')], {
        description:
          'at-most-once: messages are consumed before the response is sent, and lost if it does not arrive; those with streamedBytes are held. manual, the default: messages are held until ack, nack or the end of holdMs',
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
    payload: Type.Optional(
      Type.Unknown({ description: 'Present if the payload was enqueued as JSON: its text, as it was sent' }),
    ),
    payloadBase64: Type.Optional(
      Type.String({ description: 'Present if the payload was enqueued as bytes' }),
    ),
    streamedBytes: Type.Optional(
      Type.Integer({
        description:
          'Instead of a payload: its size, if it is too large for this response; fetch it with the receipt',
      }),
    ),
    correlationId: Type.Optional(Type.String()),
    groupKey: Type.Optional(Type.String()),
    properties: Type.Optional(Type.Record(Type.String(), Type.String())),
    priority: Type.Optional(Type.Integer({ description: 'Absent if 0' })),
    recipients: Type.Optional(Type.Array(Type.String())),
    enqueuedAtMs: Type.Integer(),
    deliveryCount: Type.Integer(),
    receipt: Type.Optional(Type.String()),
    state: Type.Optional(Type.Union([Type.Literal('ready'), Type.Literal('held'), Type.Literal('delayed')])),
    untilMs: Type.Optional(
      Type.Integer({ description: 'When the hold or delay expires; epoch milliseconds' }),
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
    after: Type.Optional(Type.String({ maxLength: 64, description: 'The `next` of the previous page' })),
    subscriber: Type.Optional(SubscriberName),
    correlationId: Type.Optional(
      Type.String({
        maxLength: queueLimits.keyBytesMax,
        description:
          'Only messages with this correlation id; without a correlationIndex this reads the whole backlog',
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
          'Default true: receives everything, even while nobody dequeues for it. A nondurable subscriber ends with its instance',
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
        'Messages that it has not consumed, held ones included. Messages for other recipients count until delivery skips them',
    }),
    held: Type.Integer(),
    lagMs: Type.Number({ description: 'Age of its oldest ready message; 0 if there is none' }),
  },
  closed,
);
export type SubscriberInfo = Static<typeof SubscriberInfo>;

export const SubscriberList = Type.Object({ subscribers: Type.Array(SubscriberInfo) }, closed);
export type SubscriberList = Static<typeof SubscriberList>;
