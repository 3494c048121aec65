/** An unsharded queue on its way to a sharded one of the same name (`/api/queues/{queue}/conversion`). */
import Type, { type Static } from 'typebox';
import { ConversionStep } from './conversion-step.ts';
import { queueLimits } from './queue.ts';
import { ErrorBody } from './run.ts';
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
    shards: count(16, 'Shards on each instance; default 1', 1),
    priorities: Type.Optional(Type.Boolean({ description: 'Messages of the sharded queue have priorities' })),
    attemptsMax: count(
      queueLimits.attemptsMax,
      'Hand-outs before a message moves to the exception queue; default no limit',
      1,
    ),
    retryDelayMs: count(
      queueLimits.retryDelayMsMax,
      'Pause before a message that came back is handed out again',
    ),
    cacheMiB: count(
      conversionLimits.cacheMiBMax,
      'Size of the message cache of every instance; default as it is',
      conversionLimits.cacheMiBMin,
    ),
    drainMsMax: count(
      conversionLimits.drainMsMax,
      'How long to wait until consumers have emptied the queue; default ten minutes',
    ),
  },
  closed,
);
export type Convert = Static<typeof Convert>;

export const Conversion = Type.Object(
  {
    queue: Type.String(),
    stage: Type.Union([...ConversionStep.anyOf, Type.Literal('done')], {
      description: 'The step that is due',
    }),
    steps: Type.Array(Type.Object({ step: ConversionStep, passedAtMs: nullable(Type.Integer()) }, closed), {
      description: 'All of them in order, with when each was done',
    }),
    startedAtMs: Type.Integer(),
    canCancel: Type.Boolean({ description: 'The unsharded queue is there, and can go on' }),
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
      description: 'This server goes on with it; if not, and it is not done, POST does, and DELETE cancels',
    }),
    failure: nullable(ErrorBody),
  },
  closed,
);
export type Conversion = Static<typeof Conversion>;

export const ConversionAnswer = Type.Object({ conversion: nullable(Conversion) }, closed);
export type ConversionAnswer = Static<typeof ConversionAnswer>;
