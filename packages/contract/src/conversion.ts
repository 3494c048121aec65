/** The conversion of an unsharded queue to a sharded queue of the same name (`/api/queues/{queue}/conversion`). */
import Type, { type Static } from 'typebox';
import { ConversionStep } from './conversion-step.ts';
import { ErrorBody } from './error-body.ts';
import { givenSettings, storedSettings } from './queue-setting-schemas.ts';
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

const { shards, priorities, attemptsMax, retryDelayMs } = givenSettings;

export const Convert = Type.Object(
  {
    shards,
    priorities,
    attemptsMax,
    retryDelayMs,
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
        shards: storedSettings.shards,
        durability: Durability,
        priorities: storedSettings.priorities,
        attemptsMax: storedSettings.attemptsMax,
        retryDelayMs: storedSettings.retryDelayMs,
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
