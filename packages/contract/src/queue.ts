/** The queue API (design, section 7). Fields that the engine does not support yet are refused with 422. */
import Type, { type Static } from 'typebox';
import { Durability } from './scenario.ts';

const closed = { additionalProperties: false } as const;

export const QueueKind = Type.Union([Type.Literal('sharded'), Type.Literal('unsharded')]);
export type QueueKind = Static<typeof QueueKind>;

export const queueLimits = {
  nameLengthMax: 64,
  payloadBytesMax: 1024 * 1024,
  messagesPerCallMax: 1_000,
  dequeueMax: 1_000,
  waitMsMax: 30_000,
  holdMsMin: 100,
  holdMsMax: 12 * 60 * 60_000,
  browseMax: 500,
} as const;

export const QueueName = Type.String({
  pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,63}$',
  description: 'A letter, then letters, digits, dots, dashes or underscores; at most 64',
});

export const CreateQueue = Type.Object(
  {
    name: QueueName,
    kind: Type.Optional(QueueKind),
    type: Type.Optional(Type.Literal('queue', { description: 'One consumer a message; the default' })),
    shards: Type.Optional(Type.Integer({ minimum: 1, maximum: 16, description: 'Shards on each instance' })),
    durability: Type.Optional(Durability),
  },
  closed,
);
export type CreateQueue = Static<typeof CreateQueue>;

export const QueueInfo = Type.Object(
  {
    name: Type.String(),
    kind: QueueKind,
    type: Type.Literal('queue'),
    shards: Type.Integer(),
    durability: Durability,
    enqueueEnabled: Type.Boolean(),
    dequeueEnabled: Type.Boolean(),
    ready: Type.Integer(),
    held: Type.Integer(),
    enqueued: Type.Integer(),
    consumed: Type.Integer(),
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

export const Enqueued = Type.Object({ ids: Type.Array(Type.String()) }, closed);
export type Enqueued = Static<typeof Enqueued>;

export const Dequeue = Type.Object(
  {
    max: Type.Optional(Type.Integer({ minimum: 1, maximum: queueLimits.dequeueMax })),
    waitMs: Type.Optional(Type.Integer({ minimum: 0, maximum: queueLimits.waitMsMax })),
    mode: Type.Optional(
      Type.Union([Type.Literal('auto'), Type.Literal('manual')], {
        description:
          'auto: consumed before the answer is sent (at most once); manual: held until ack, nack or holdMs',
      }),
    ),
    holdMs: Type.Optional(Type.Integer({ minimum: queueLimits.holdMsMin, maximum: queueLimits.holdMsMax })),
  },
  closed,
);
export type Dequeue = Static<typeof Dequeue>;

export const MessageOut = Type.Object(
  {
    id: Type.String(),
    payload: Type.Optional(Type.Unknown({ description: 'Present when the bytes were enqueued as JSON' })),
    payloadBase64: Type.Optional(Type.String({ description: 'Present when they were enqueued as bytes' })),
    correlationId: Type.Optional(Type.String()),
    groupKey: Type.Optional(Type.String()),
    properties: Type.Optional(Type.Record(Type.String(), Type.String())),
    enqueuedAtMs: Type.Integer(),
    deliveryCount: Type.Integer(),
    receipt: Type.Optional(Type.String()),
    state: Type.Optional(Type.Union([Type.Literal('ready'), Type.Literal('held'), Type.Literal('delayed')])),
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
  },
  closed,
);
export type BrowseQuery = Static<typeof BrowseQuery>;

export const Browsed = Type.Object(
  { messages: Type.Array(MessageOut), next: Type.Union([Type.String(), Type.Null()]) },
  closed,
);
export type Browsed = Static<typeof Browsed>;
