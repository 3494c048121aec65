/** A message's trace over HTTP: its recorded events, and why it waits now. */
import { messageEventKinds } from '@shardlab/engine/message-event-kinds';
import Type, { type Static } from 'typebox';
import { patterns } from './patterns.ts';
import { queueLimits } from './queue-limits.ts';

const closed = { additionalProperties: false } as const;

export const MessageId = Type.String({
  pattern: patterns.messageId.pattern,
  description: 'The id of a message of a sharded queue',
  examples: ['100.128'],
});

export { messageEventKinds };
export const MessageEventKind = Type.Enum(messageEventKinds);
export type MessageEventKind = Static<typeof MessageEventKind>;

const EpochMs = Type.Number({ description: 'Epoch milliseconds, with fractions' });

export const MessageEvent = Type.Object(
  {
    event: MessageEventKind,
    atMs: EpochMs,
    instance: Type.Integer(),
    shard: Type.Integer({ description: 'The log that the message was in' }),
    seq: Type.Integer({ description: 'Its number there' }),
    partition: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Null if the message is in memory only, or had none yet',
    }),
    subscriber: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: 'Of a topic: the subscriber that the event concerns; null if it was removed since',
      }),
    ),
    session: Type.Optional(
      Type.String({ description: 'The session that enqueued the message, or that it was delivered to' }),
    ),
    attempt: Type.Optional(Type.Integer({ description: 'Delivery attempt, from 1' })),
    group: Type.Optional(
      Type.Integer({ description: 'The group commit, counted from the opening of the instance' }),
    ),
    others: Type.Optional(Type.Integer({ description: 'Other transactions and writes in that group' })),
    writeMs: Type.Optional(
      Type.Number({ description: 'Of committed: how long the group was written and synced' }),
    ),
    untilMs: Type.Optional(EpochMs),
    peer: Type.Optional(
      Type.Integer({ description: 'Of forwarded and received: the instance that it went to or came from' }),
    ),
  },
  closed,
);
export type MessageEvent = Static<typeof MessageEvent>;

const ofSubscriber = {
  instance: Type.Integer(),
  subscriber: Type.Optional(Type.String({ description: 'Of a topic' })),
};

export const MessageWhereabouts = Type.Union([
  Type.Object({ ...ofSubscriber, state: Type.Literal('uncommitted') }, closed),
  Type.Object(
    {
      ...ofSubscriber,
      state: Type.Literal('ready'),
      reason: Type.Enum(
        [
          'dequeue-stopped',
          'behind-others',
          'elsewhere-first',
          'partition-damaged',
          'being-read',
          'no-consumer',
          'next',
        ],
        { description: 'Why it is not delivered' },
      ),
      ahead: Type.Integer({ minimum: 0, description: 'Messages that are delivered before it' }),
    },
    closed,
  ),
  Type.Object(
    {
      ...ofSubscriber,
      state: Type.Literal('held'),
      holder: Type.Enum(['transaction', 'timed-hold', 'branch', 'other']),
      session: Type.Optional(Type.String()),
      sinceMs: Type.Optional(EpochMs),
      untilMs: Type.Optional(EpochMs),
    },
    closed,
  ),
  Type.Object(
    {
      ...ofSubscriber,
      state: Type.Literal('delayed'),
      reason: Type.Enum(['not-due', 'retry-delay']),
      untilMs: EpochMs,
    },
    closed,
  ),
  Type.Object(
    {
      ...ofSubscriber,
      state: Type.Literal('consumed'),
      partition: Type.Enum(['none', 'filling', 'waits', 'retained', 'truncating', 'truncated'], {
        description: 'The state of the partition that stored it',
      }),
      waitsFor: Type.Optional(
        Type.String({ description: 'The id of the message for which the partition is kept' }),
      ),
    },
    closed,
  ),
  Type.Object({ ...ofSubscriber, state: Type.Literal('unknown') }, closed),
]);
export type MessageWhereabouts = Static<typeof MessageWhereabouts>;

export const TraceRecorderInfo = Type.Object(
  {
    instance: Type.Integer(),
    traceEvery: Type.Integer({ minimum: 0, description: 'One message in so many is traced; 0: none' }),
    eventsMax: Type.Integer(),
    events: Type.Integer({ minimum: 0 }),
    overwritten: Type.Integer({ minimum: 0, description: 'Events that later ones have taken the place of' }),
    pending: Type.Integer({ minimum: 0, description: 'Next messages of the queue that will be traced' }),
  },
  closed,
);
export type TraceRecorderInfo = Static<typeof TraceRecorderInfo>;

export const MessageTrace = Type.Object(
  {
    queue: Type.String(),
    id: Type.String(),
    events: Type.Array(MessageEvent, { description: 'The oldest first' }),
    coverage: Type.Enum(['complete', 'partial', 'none'], {
      description:
        'complete: from its enqueue on; partial: earlier events were overwritten, or happened before the instance opened; none: it is not traced, or all its events were overwritten',
    }),
    whereabouts: Type.Array(MessageWhereabouts),
    recorders: Type.Array(TraceRecorderInfo),
  },
  closed,
);
export type MessageTrace = Static<typeof MessageTrace>;

export const TracedMessage = Type.Object(
  {
    id: Type.String(),
    instance: Type.Integer(),
    event: MessageEventKind,
    atMs: EpochMs,
  },
  closed,
);
export type TracedMessage = Static<typeof TracedMessage>;

export const TracedMessages = Type.Object({ messages: Type.Array(TracedMessage) }, closed);
export type TracedMessages = Static<typeof TracedMessages>;

export const TracesQuery = Type.Object(
  { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: queueLimits.tracedMessagesMax })) },
  closed,
);
export type TracesQuery = Static<typeof TracesQuery>;

export const TraceNext = Type.Object(
  {
    next: Type.Integer({
      minimum: 1,
      maximum: queueLimits.tracesPendingMax,
      description:
        'How many of the next messages that anybody enqueues are traced, on each instance; replaces what was asked before',
    }),
  },
  closed,
);
export type TraceNext = Static<typeof TraceNext>;
