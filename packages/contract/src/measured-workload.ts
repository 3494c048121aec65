/** A point of a finished run in a form that the model can repeat: a workload and its measurements. */
import Type, { type Static } from 'typebox';
import { Durability } from './scenario.ts';

const closed = { additionalProperties: false } as const;

/** How many an answer has at most. Simulating one takes a tenth of a second. */
export const measuredWorkloadsMax = 100;

const Measured = Type.Optional(Type.Number({ exclusiveMinimum: 0 }));

/** The names are those of the model's `MeasuredPoint`. */
export const MeasuredWorkload = Type.Object(
  {
    run: Type.String({ description: 'Id of the run' }),
    title: Type.String({ description: 'Of its scenario' }),
    endedAtMs: Type.Integer(),
    kind: Type.Union([Type.Literal('sharded'), Type.Literal('unsharded')]),
    params: Type.Object(
      {
        instances: Type.Integer({ minimum: 1 }),
        threads: Type.Integer({ minimum: 1 }),
        roundTripMs: Type.Number({ minimum: 0 }),
        payloadBytes: Type.Integer({ minimum: 0 }),
        operationsPerTransaction: Type.Integer({ minimum: 1 }),
        subscribers: Type.Optional(Type.Integer({ minimum: 1, description: 'Of a topic' })),
      },
      closed,
    ),
    backlogMax: Type.Integer({ minimum: 1 }),
    durability: Durability,
    phases: Type.Object(
      { warmupMs: Type.Integer({ minimum: 0 }), measureMs: Type.Integer({ minimum: 1 }) },
      closed,
    ),
    figures: Type.Object(
      {
        dequeuePerSec: Measured,
        cpuUsPerMessage: Measured,
        commitMs: Measured,
        dequeueCallMs: Measured,
        latencyMs: Measured,
      },
      { ...closed, description: 'Those that were measured; times are medians' },
    ),
    disturbed: Type.Boolean({ description: 'Other work used the CPU or the disk during one of its repeats' }),
  },
  closed,
);
export type MeasuredWorkload = Static<typeof MeasuredWorkload>;

/** The newest measurement of each workload comes first. */
export const MeasuredWorkloadList = Type.Object(
  { workloads: Type.Array(MeasuredWorkload, { maxItems: measuredWorkloadsMax }) },
  closed,
);
export type MeasuredWorkloadList = Static<typeof MeasuredWorkloadList>;
