/** The effects of a scenario's faults or conversion on a trial. */
import Type, { type Static } from 'typebox';
import { ConversionStep } from './conversion-step.ts';
import { FaultKind } from './scenario.ts';

const closed = { additionalProperties: false } as const;

/** A fault of the scenario and its effect. */
export const FaultOutcome = Type.Object(
  {
    kind: FaultKind,
    instance: Type.Integer(),
    atMs: Type.Number({ description: 'Actual time, from the start of the measured phase' }),
    takeoverMs: Type.Union([Type.Number(), Type.Null()], {
      description:
        'Time until another process served the instance, or its own process again; null if that did not happen',
    }),
    outageMs: Type.Union([Type.Number(), Type.Null()], {
      description:
        "How long no commit of the instance's sessions was acknowledged; null if none was from then on",
    }),
    dequeuePerSec: Type.Object(
      { before: Type.Number(), during: Type.Number(), after: Type.Number() },
      {
        ...closed,
        description:
          'Of all instances: from the previous fault or the start, during the outage, and after it until the next fault or the end',
      },
    ),
  },
  closed,
);
export type FaultOutcome = Static<typeof FaultOutcome>;

const RatesAround = Type.Object(
  { before: Type.Number(), during: Type.Number(), after: Type.Number() },
  closed,
);

/** The conversion of the scenario and its effect. Times count from the start of the measured phase. */
export const ConversionOutcome = Type.Object(
  {
    atMs: Type.Number(),
    tookMs: Type.Number(),
    steps: Type.Array(
      Type.Object({ step: ConversionStep, atMs: Type.Number(), tookMs: Type.Number() }, closed),
      { description: 'In order, each from when it was due until it was completed' },
    ),
    withoutEnqueueMs: Type.Union([Type.Number(), Type.Null()], {
      description:
        'The longest time in which an instance acknowledged no enqueue; null if it acknowledged none from then on',
    }),
    enqueuePerSec: RatesAround,
    dequeuePerSec: RatesAround,
  },
  closed,
);
export type ConversionOutcome = Static<typeof ConversionOutcome>;

/** The work of one instance's sessions in a short interval. */
export const TimelineBin = Type.Object(
  {
    instance: Type.Integer(),
    fromMs: Type.Number({ description: 'From the start of the measured phase' }),
    toMs: Type.Number(),
    enqueuePerSec: Type.Number(),
    dequeuePerSec: Type.Number(),
    latencyMs: Type.Object({ p50: Type.Number(), p99: Type.Number() }, closed),
  },
  closed,
);
export type TimelineBin = Static<typeof TimelineBin>;
