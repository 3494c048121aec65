/** Messages over HTTP: enqueued, dequeued, acknowledged and browsed. Fields that the engine does not support are refused with 422. */
import Type, { type Static } from 'typebox';
import { patterns } from './patterns.ts';
import { SubscriberName } from './queue.ts';
import { queueLimits } from './queue-limits.ts';

const closed = { additionalProperties: false } as const;

export const Base64 = Type.String({
  pattern: patterns.base64.pattern,
  contentEncoding: 'base64',
  description: 'Bytes as base64, with padding',
});

const PropertyName = Type.String({ pattern: patterns.propertyName.pattern });

/** Alternative of a `oneOf`: objects with this field. */
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

export const MessageState = Type.Union([
  Type.Literal('ready'),
  Type.Literal('held'),
  Type.Literal('delayed'),
  Type.Literal('processed'),
]);
export type MessageState = Static<typeof MessageState>;

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
    deliveryCount: Type.Integer({ description: '0 if the message is processed: it is not kept' }),
    receipt: Type.Optional(Type.String()),
    state: Type.Optional({
      ...MessageState,
      description: 'In a page of browsed messages. Processed: consumed, or moved to the exception queue',
    }),
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

export const Nack = Type.Object(
  {
    ...Receipts.properties,
    error: Type.Optional(
      Type.Object(
        {
          name: Type.Optional(Type.String({ maxLength: queueLimits.errorNameMax })),
          message: Type.String({ maxLength: queueLimits.errorMessageMax }),
          stack: Type.Optional(Type.String({ maxLength: queueLimits.errorStackMax })),
        },
        {
          ...closed,
          description:
            'Why the consumer failed: kept with the message, also in the exception queue, cut to 128, 1,024 and 4,096 bytes. On a queue without retryDelayMs it then waits 100 ms, doubled with each attempt up to 10 s',
        },
      ),
    ),
    delayMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: queueLimits.returnDelayMsMax,
        description: "Time until they can be delivered again; default: the queue's retryDelayMs",
      }),
    ),
    reject: Type.Optional(
      Type.Boolean({
        description: 'Whether they move to the exception queue at once, whatever their attempts',
      }),
    ),
  },
  closed,
);
export type Nack = Static<typeof Nack>;

export const Extend = Type.Object(
  {
    ...Receipts.properties,
    holdMs: Type.Integer({ minimum: queueLimits.holdMsMin, maximum: queueLimits.holdMsMax }),
  },
  closed,
);
export type Extend = Static<typeof Extend>;

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
    state: Type.Optional({
      ...MessageState,
      description:
        'Only messages in this state; processed: those that were consumed, as far back as the retentionMs of the queue',
    }),
  },
  closed,
);
export type BrowseQuery = Static<typeof BrowseQuery>;

export const Browsed = Type.Object(
  { messages: Type.Array(MessageOut), next: Type.Union([Type.String(), Type.Null()]) },
  closed,
);
export type Browsed = Static<typeof Browsed>;
