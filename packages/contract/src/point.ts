/** A point of a run: one combination of parameters, its figures, waits and integrity. */
import Type, { type Static } from 'typebox';
import { ConversionOutcome, FaultOutcome, TimelineBin } from './disruption.ts';
import { EventHolders } from './event-holders.ts';
import { Params } from './parameter.ts';
import { Provenance } from './provenance.ts';
import {
  Disturbance,
  DurabilityEvidence,
  KilledTrial,
  PointConditions,
  Steadiness,
} from './repeat-conditions.ts';
import { SampledTraces } from './sampled-trace.ts';
import { RateSeries, SequenceLane, SessionWaits, Swimlane } from './trace.ts';

const closed = { additionalProperties: false } as const;

export const LatencyMs = Type.Object(
  {
    p50: Type.Number(),
    p90: Type.Number(),
    p99: Type.Number(),
    p999: Type.Number(),
    max: Type.Number(),
    count: Type.Integer(),
    distribution: Type.Optional(
      Type.Object(
        {
          mean: Type.Number(),
          deviation: Type.Number({ description: 'Standard deviation' }),
          ticksUs: Type.Array(Type.Integer({ minimum: 0 }), {
            description:
              'Microseconds, at the percentiles of HdrHistogram with five ticks per half distance (percentileTicks in packages/contract)',
          }),
        },
        { ...closed, description: 'The whole of it; left out in runs of earlier versions' },
      ),
    ),
  },
  closed,
);
export type LatencyMs = Static<typeof LatencyMs>;

export const WaitClass = Type.Union([
  Type.Literal('commit'),
  Type.Literal('concurrency'),
  Type.Literal('configuration'),
  Type.Literal('network'),
  Type.Literal('idle'),
]);
export type WaitClass = Static<typeof WaitClass>;

export const WaitSummary = Type.Object(
  {
    event: Type.String(),
    class: WaitClass,
    waits: Type.Integer(),
    totalMs: Type.Number(),
    p99Ms: Type.Number(),
    emulated: Type.Boolean(),
    histogram: Type.Optional(
      Type.Array(Type.Integer(), {
        description:
          'Waits by duration: element i counts those over 2^(i-1) and up to 2^i microseconds, the first all up to 1; left out where durations are not kept',
      }),
    ),
  },
  closed,
);
export type WaitSummary = Static<typeof WaitSummary>;

/** Counted over the whole point, warm-up and drain included. All except `left` must be zero. */
export const Integrity = Type.Object(
  {
    lost: Type.Integer(),
    duplicated: Type.Integer(),
    damaged: Type.Integer(),
    outOfOrder: Type.Integer(),
    left: Type.Integer({
      description: 'Messages found in the queue by browsing when the bounded drain had ended',
    }),
    durability: Type.Optional(DurabilityEvidence),
  },
  closed,
);
export type Integrity = Static<typeof Integrity>;

/** A figure of a point: the median of its repeats. */
export const Figure = Type.Object(
  {
    value: Type.Number(),
    unit: Type.String(),
    provenance: Provenance,
    repeats: Type.Array(Type.Number(), {
      description: 'In the order of the trials, without those in which it could not be measured',
    }),
  },
  closed,
);
export type Figure = Static<typeof Figure>;

/** The data of one repeat of a point besides its figures. */
export const Repeat = Type.Object(
  {
    measuredMs: Type.Number(),
    byInstance: Type.Record(Type.String(), Type.Array(Type.Number()), {
      description: 'Figures that each instance has for itself, by name',
    }),
    waitMs: Type.Record(Type.String(), Type.Number(), {
      description: 'Time that sessions waited, by wait event',
    }),
    steady: Type.Optional(Steadiness),
    disturbance: Type.Optional(Disturbance),
    attempts: Type.Optional(
      Type.Integer({ description: 'How often it was measured until it counted, or the run gave up' }),
    ),
    faults: Type.Optional(Type.Array(FaultOutcome)),
    conversion: Type.Optional(ConversionOutcome),
    timeline: Type.Optional(
      Type.Array(TimelineBin, { description: 'Present if the scenario has faults or a conversion' }),
    ),
  },
  closed,
);
export type Repeat = Static<typeof Repeat>;

/** Identifies one combination of the sweep. */
export const Combination = Type.Object(
  { program: Type.String(), system: Type.String(), params: Params },
  closed,
);
export type Combination = Static<typeof Combination>;

export const Point = Type.Object(
  {
    ...Combination.properties,
    figures: Type.Record(Type.String(), Figure, { description: 'By name; the program says what each is' }),
    latencies: Type.Record(Type.String(), LatencyMs, {
      description:
        'Distributions over all repeats, by name: latency (enqueue to delivery), dequeueCall, commit',
    }),
    byInstance: Type.Record(Type.String(), Type.Array(Type.Number()), {
      description:
        'Medians of figures that each instance has for itself: cpuShare (cores kept busy), dequeuePerSec',
    }),
    histograms: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.Number()), {
        description:
          'Counts over all repeats, by name; element i counts values from 2^i to 2^(i+1): latchGetNs, mutexGetNs',
      }),
    ),
    swimlanes: Type.Optional(
      Type.Array(Swimlane, {
        description:
          'Of the first repeat: the events of each session after one message was enqueued, or which instance had the service when',
      }),
    ),
    sessionWaits: Type.Optional(
      Type.Array(SessionWaits, { description: 'Of the first repeat, of programs that trace their sessions' }),
    ),
    sequence: Type.Optional(
      Type.Array(SequenceLane, { description: 'Of the first repeat: one transaction, call by call' }),
    ),
    traces: Type.Optional({
      ...SampledTraces,
      description: 'Of the first repeat: what the engine recorded of a few messages, event by event',
    }),
    holders: Type.Optional(
      Type.Array(EventHolders, {
        description:
          'Of the first repeat: who held what sessions waited for. Left out by programs that do not sample it, and of sessions in other processes than their instance',
      }),
    ),
    rates: Type.Optional(
      Type.Array(RateSeries, {
        description: 'Of the first repeat, of programs that count in slices of time',
      }),
    ),
    waits: Type.Array(WaitSummary),
    integrity: Integrity,
    conditions: Type.Optional(PointConditions),
    killed: Type.Optional(KilledTrial),
    stated: Type.Optional(
      Type.String({ description: 'Durability as the system itself reports it once it is open' }),
    ),
    repeats: Type.Array(Repeat),
  },
  closed,
);
export type Point = Static<typeof Point>;

/** The value of a figure; 0 if the point does not have it. */
export const figureOf = (
  { figures }: { figures: Readonly<Record<string, { value: number }>> },
  name: string,
): number => figures[name]?.value ?? 0;

/**
 * Cores that all instances of a point together kept busy: summed within each repeat, then the mean by time. An elected writer can be another
 * instance in each repeat, so a sum of medians by instance would leave its CPU out.
 */
export function coresBusyOf({ repeats, byInstance }: Pick<Point, 'repeats' | 'byInstance'>): number {
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const told = repeats.flatMap(({ measuredMs, byInstance: { cpuShare } }) =>
    cpuShare === undefined ? [] : [{ measuredMs, cores: sum(cpuShare) }],
  );
  const measuredMs = sum(told.map((repeat) => repeat.measuredMs));
  if (measuredMs === 0) return sum(byInstance.cpuShare ?? []);
  return sum(told.map(({ cores, measuredMs: ms }) => (cores * ms) / measuredMs));
}

/** The provenance of a point's figures. */
export const provenanceOf = ({ figures }: Pick<Point, 'figures'>): Provenance =>
  Object.values(figures)[0]?.provenance ?? 'measured';

const noLatency: LatencyMs = { p50: 0, p90: 0, p99: 0, p999: 0, max: 0, count: 0 };

/** A distribution of a point; all zero if the point does not have it. */
export const distributionOf = ({ latencies }: Pick<Point, 'latencies'>, name: string): LatencyMs =>
  latencies[name] ?? noLatency;

/** Identifies a point inside its run: points with the same key are the same combination of parameters. */
export function pointKey({ program, system, params }: Combination): string {
  const named = Object.keys(params)
    .sort()
    .map((name) => `${name}=${params[name]}`);
  return [program, system, ...named].join('/');
}
