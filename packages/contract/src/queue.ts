/** Queues and their subscribers over HTTP: how they are created, listed, started and stopped. Fields that the engine does not support are refused with 422. */
import Type, { type Static } from 'typebox';
import { patterns } from './patterns.ts';
import { queueLimits } from './queue-limits.ts';
import { givenSettings, settingNeeds, storedSettings } from './queue-setting-schemas.ts';
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

export const AttemptsCounted = Type.Union([
  Type.Literal('on-return', {
    description: 'The commit that returns a message counts its delivery; the default',
  }),
  Type.Literal('on-delivery', {
    description:
      'A message is handed over once its delivery is counted, so that consumers whose process it kills count too; needs a persistent queue and attemptsMax',
  }),
]);
export type AttemptsCounted = Static<typeof AttemptsCounted>;

export const QueueName = Type.String({
  pattern: patterns.queueName.pattern,
  description: 'A letter, then letters, digits, dots, dashes or underscores; at most 64',
});

export const SubscriberName = Type.String({
  minLength: 1,
  maxLength: queueLimits.subscriberNameMax,
  pattern: patterns.subscriberName.pattern,
  description: 'Any characters except U+0000; neither "." nor ".."',
});

export const CreateQueue = Type.Object(
  {
    name: QueueName,
    kind: Type.Optional(QueueKind),
    type: Type.Optional(QueueType),
    durability: Type.Optional(Durability),
    visibility: Type.Optional(Visibility),
    attemptsCounted: Type.Optional(AttemptsCounted),
    ...givenSettings,
  },
  {
    ...closed,
    description: `Settings depend on each other: ${settingNeeds}; the name has at most 53 characters unless attemptsMax is null or the queue is buffered; cacheBytesMin is at most cacheBytesMax. Else 422`,
  },
);
export type CreateQueue = Static<typeof CreateQueue>;

export const QueueInfo = Type.Object(
  {
    name: Type.String(),
    kind: QueueKind,
    type: QueueType,
    durability: Durability,
    visibility: Visibility,
    attemptsCounted: AttemptsCounted,
    ...storedSettings,
    cacheBytes: Type.Integer({ description: 'Bytes that its messages use in the message caches' }),
    exceptionQueue: Type.Union([Type.String(), Type.Null()], {
      description:
        'Receives messages that were rejected, or delivered attemptsMax times; null until there is one',
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

export const DropQueueQuery = Type.Object(
  {
    withExceptions: Type.Optional(
      Type.Boolean({
        description:
          'true: drop the exception queue even if it has messages; without it such a drop is refused with EXCEPTION_QUEUE_NOT_EMPTY',
      }),
    ),
  },
  closed,
);
export type DropQueueQuery = Static<typeof DropQueueQuery>;

/** Whether a start or stop call concerns enqueue or dequeue; both if there is no body. */
export const StartStop = Type.Object(
  { enqueue: Type.Optional(Type.Boolean()), dequeue: Type.Optional(Type.Boolean()) },
  closed,
);
export type StartStop = Static<typeof StartStop>;

export const QueueList = Type.Object({ queues: Type.Array(QueueInfo) }, closed);
export type QueueList = Static<typeof QueueList>;

export const Subscribe = Type.Object(
  {
    name: SubscriberName,
    durable: Type.Optional(
      Type.Boolean({
        description:
          'Default true: receives everything, even without a consumer. A nondurable subscriber ends with its instance',
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
