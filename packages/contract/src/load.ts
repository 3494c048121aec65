/** A bounded load on a queue of the cluster that accounts for every message, to observe the effect of a failover. */
import Type, { type Static } from 'typebox';
import { ErrorBody } from './error-body.ts';

const closed = { additionalProperties: false } as const;
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const loadLimits = {
  durationMsMin: 1_000,
  durationMsMax: 120_000,
  durationMsDefault: 30_000,
  ratePerSecMin: 10,
  ratePerSecMax: 5_000,
  ratePerSecDefault: 500,
} as const;

export const StartLoad = Type.Object(
  {
    durationMs: Type.Optional(
      Type.Integer({ minimum: loadLimits.durationMsMin, maximum: loadLimits.durationMsMax }),
    ),
    ratePerSec: Type.Optional(
      Type.Integer({
        minimum: loadLimits.ratePerSecMin,
        maximum: loadLimits.ratePerSecMax,
        description: 'Messages per second, over all sessions',
      }),
    ),
  },
  closed,
);
export type StartLoad = Static<typeof StartLoad>;

export const LoadSample = Type.Object(
  {
    atMs: Type.Integer({ description: 'Milliseconds since the load began' }),
    acknowledgedPerSec: Type.Number(),
    consumedPerSec: Type.Number(),
  },
  closed,
);
export type LoadSample = Static<typeof LoadSample>;

export const ClusterLoad = Type.Object(
  {
    queue: Type.String(),
    state: Type.Union([Type.Literal('running'), Type.Literal('draining'), Type.Literal('done')], {
      description: 'draining: enqueuing has ended, and the remaining messages are being consumed',
    }),
    startedAtMs: Type.Integer(),
    durationMs: Type.Integer({ description: 'How long it enqueues, unless it is stopped earlier' }),
    ratePerSec: Type.Integer(),
    acknowledged: Type.Integer({ description: 'Messages whose commit was acknowledged' }),
    consumed: Type.Integer({ description: 'Messages whose consumption was acknowledged' }),
    outcomeUnknown: Type.Integer({
      description: 'Messages of commits whose outcome could not be determined',
    }),
    duplicated: Type.Integer({
      description: 'Messages delivered again after their consumption was acknowledged',
    }),
    left: nullable(
      Type.Integer({ description: 'Messages still in the queue when the load ended; null until then' }),
    ),
    lost: nullable(
      Type.Integer({
        description:
          'Messages acknowledged, but neither consumed nor left; null until the load has ended and all instances are served',
      }),
    ),
    slowestCommitMs: Type.Number({
      description: 'The longest time until a commit succeeded, retries included',
    }),
    error: nullable(ErrorBody),
    samples: Type.Array(LoadSample),
  },
  closed,
);
export type ClusterLoad = Static<typeof ClusterLoad>;

export const LoadAnswer = Type.Object({ load: nullable(ClusterLoad) }, closed);
export type LoadAnswer = Static<typeof LoadAnswer>;
