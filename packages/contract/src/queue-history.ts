/** Depth, rates, latency and lag of queues over the last minutes, hour or day, as the server sampled them while it ran. */
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
    sinceMs: Type.Integer({
      description:
        'Since when the rates and the latency are counted. Later than the previous sample if the server was down in between, or got no answer',
    }),
    depth: Type.Integer({ description: 'Messages committed and not consumed' }),
    enqueuePerSec: Type.Number(),
    dequeuePerSec: Type.Number(),
    latencyMs: Type.Union([Type.Object({ p50: Type.Number(), p99: Type.Number() }, closed), Type.Null()], {
      description:
        'Time from the enqueue of a message to its first delivery, of the first message of each dequeue call, within 19 %; a sample of the calls at high rates, and null without any',
    }),
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
