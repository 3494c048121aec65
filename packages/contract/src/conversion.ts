/** The conversion of an unsharded queue to a sharded queue of the same name (`/api/queues/{queue}/conversion`). */
import Type, { type Static } from 'typebox';
import { ConversionStep } from './conversion-step.ts';
import { ErrorBody } from './error-body.ts';
import { queueLimits } from './queue-limits.ts';
import { Durability } from './scenario.ts';

const closed = { additionalProperties: false } as const;
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const conversionLimits = {
  cacheMiBMin: 1,
  cacheMiBMax: 65_536,
  drainMsMax: 24 * 60 * 60_000,
} as const;

const count = (maximum: number, description: string, minimum = 0) =>
  Type.Optional(Type.Integer({ minimum, maximum, description }));

export const Convert = Type.Object(
  {
    shards: count(16, 'Shards per instance; default 1', 1),
    priorities: Type.Optional(
      Type.Boolean({ description: 'Whether the sharded queue delivers by priority' }),
    ),
    attemptsMax: count(
      queueLimits.attemptsMax,
      'Deliveries of a message before it moves to the exception queue; no limit by default',
      1,
    ),
    retryDelayMs: count(queueLimits.retryDelayMsMax, 'Pause before a returned message is delivered again'),
    cacheMiB: count(
      conversionLimits.cacheMiBMax,
      'Size of the message cache of every instance; unchanged by default',
      conversionLimits.cacheMiBMin,
    ),
    drainMsMax: count(
      conversionLimits.drainMsMax,
      'How long to wait for consumers to empty the queue; ten minutes by default',
    ),
  },
  closed,
);
export type Convert = Static<typeof Convert>;

export const Conversion = Type.Object(
  {
    queue: Type.String(),
    stage: Type.Union([...ConversionStep.anyOf, Type.Literal('done')], {
      description: 'The next step',
    }),
    steps: Type.Array(Type.Object({ step: ConversionStep, passedAtMs: nullable(Type.Integer()) }, closed), {
      description: 'All steps in order, and when each was completed',
    }),
    startedAtMs: Type.Integer(),
    canCancel: Type.Boolean({
      description: 'Whether the unsharded queue still exists, so that it can be used again',
    }),
    settings: Type.Object(
      {
        shards: Type.Integer(),
        durability: Durability,
        priorities: Type.Boolean(),
        attemptsMax: nullable(Type.Integer()),
        retryDelayMs: Type.Integer(),
        cacheBytesMax: nullable(Type.Integer()),
      },
      closed,
    ),
    running: Type.Boolean({
      description:
        'Whether this server is working on it. If not, POST resumes an unfinished conversion and DELETE cancels it',
    }),
    failure: nullable(ErrorBody),
  },
  closed,
);
export type Conversion = Static<typeof Conversion>;

export const ConversionAnswer = Type.Object({ conversion: nullable(Conversion) }, closed);
export type ConversionAnswer = Static<typeof ConversionAnswer>;
