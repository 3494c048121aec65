/** Depth, rates and lag of queues over the last minutes, hour or day, as the server sampled them since it started. */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;

export const HistoryRange = Type.Union([Type.Literal('10m'), Type.Literal('1h'), Type.Literal('24h')]);
export type HistoryRange = Static<typeof HistoryRange>;

export const HistoryQuery = Type.Object(
  { range: Type.Optional({ ...HistoryRange, description: 'Default 10m' }) },
  closed,
);
export type HistoryQuery = Static<typeof HistoryQuery>;

export const QueueSample = Type.Object(
  {
    atMs: Type.Integer({ description: 'Epoch milliseconds' }),
    depth: Type.Integer({ description: 'Messages committed and not consumed' }),
    enqueuePerSec: Type.Number({ description: 'Since the sample before' }),
    dequeuePerSec: Type.Number(),
    lagMs: Type.Union([Type.Number(), Type.Null()], {
      description:
        'Age of the oldest ready message; 0 if there is none, null if it is not in a message cache',
    }),
  },
  closed,
);
export type QueueSample = Static<typeof QueueSample>;

export const QueueHistory = Type.Object(
  {
    queue: Type.String(),
    everyMs: Type.Integer({ description: 'Time between samples' }),
    samples: Type.Array(QueueSample, { description: 'Oldest first' }),
  },
  closed,
);
export type QueueHistory = Static<typeof QueueHistory>;

export const QueueHistories = Type.Object({ queues: Type.Array(QueueHistory) }, closed);
export type QueueHistories = Static<typeof QueueHistories>;
