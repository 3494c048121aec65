/** A run, its points, and the events that the server streams while the run is in progress. */
import Type, { type Static } from 'typebox';
import { ClaimResult, Verdict } from './claim.ts';
import { ConversionOutcome, FaultOutcome, TimelineBin } from './disruption.ts';
import { Params } from './parameter.ts';
import { Provenance } from './provenance.ts';
import {
  Disturbance,
  DurabilityEvidence,
  KilledTrial,
  PointConditions,
  Steadiness,
} from './repeat-conditions.ts';
import { FaultKind, Scale, Scenario } from './scenario.ts';

const closed = { additionalProperties: false } as const;

export const LatencyMs = Type.Object(
  {
    p50: Type.Number(),
    p90: Type.Number(),
    p99: Type.Number(),
    p999: Type.Number(),
    max: Type.Number(),
    count: Type.Integer(),
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

/** What else one repeat of a point tells, beside its figures. */
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

/** What one session did after an event that concerns many. Times are microseconds from that event. */
export const Swimlane = Type.Object(
  {
    session: Type.Integer(),
    outcome: Type.Union([
      Type.Literal('posted'),
      Type.Literal('got the message'),
      Type.Literal('woke for nothing'),
      Type.Literal('had the service'),
    ]),
    spans: Type.Array(
      Type.Object(
        {
          kind: Type.String({
            description:
              'mutex and latch: a get. posted, woken, found, found nothing, dequeued: a moment. epoch 7: the time in which a process had the service, called when the one before had ended',
          }),
          calledUs: Type.Number(),
          gotUs: Type.Number({ description: 'Of a get, when it succeeded; until then the session waited' }),
          endedUs: Type.Number({ description: 'Of a get, when it was released' }),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type Swimlane = Static<typeof Swimlane>;

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
          'Of the first repeat: who did what after one message was enqueued, or which instance had the service when',
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

/** Where the figures of a point come from. */
export const provenanceOf = ({ figures }: Pick<Point, 'figures'>): Provenance =>
  Object.values(figures)[0]?.provenance ?? 'measured';

const noLatency: LatencyMs = { p50: 0, p90: 0, p99: 0, p999: 0, max: 0, count: 0 };

/** A distribution of a point; all zero if the point does not have it. */
export const distributionOf = ({ latencies }: Pick<Point, 'latencies'>, name: string): LatencyMs =>
  latencies[name] ?? noLatency;

export const Environment = Type.Object(
  {
    cpuModel: Type.String(),
    cores: Type.Integer(),
    memoryGiB: Type.Number(),
    platform: Type.String(),
    fileSystem: Type.String(),
    syncMs: Type.Object({ p50: Type.Number(), p99: Type.Number() }, closed),
    node: Type.String(),
    sqlite: Type.String(),
    commit: Type.Union([Type.String(), Type.Null()]),
    loadAverage: Type.Number(),
  },
  closed,
);
export type Environment = Static<typeof Environment>;

export const RunStatus = Type.Union([
  Type.Literal('queued'),
  Type.Literal('running'),
  Type.Literal('done'),
  Type.Literal('failed'),
  Type.Literal('cancelled'),
]);
export type RunStatus = Static<typeof RunStatus>;

export const Progress = Type.Object(
  {
    done: Type.Integer({ description: 'Trials finished (a trial is one repeat of one point)' }),
    total: Type.Integer(),
    etaMs: Type.Union([Type.Integer(), Type.Null()]),
    measuredAgain: Type.Optional(
      Type.Integer({
        description:
          'Trials that were measured once more, because they were not steady or disturbed; not in done and total',
      }),
    ),
    current: Type.Optional(Type.String({ description: 'The trial in progress, in words' })),
  },
  closed,
);
export type Progress = Static<typeof Progress>;

export const ErrorBody = Type.Object(
  {
    code: Type.String(),
    message: Type.String(),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    retryable: Type.Boolean(),
  },
  { additionalProperties: true },
);
export type ErrorBody = Static<typeof ErrorBody>;

/** Characters of what a user writes of a run. */
export const runLabelLimits = { nameMax: 120, noteMax: 4_000, textMax: 120 } as const;

/** What a user says of a run. */
export const RunLabels = Type.Object(
  {
    name: Type.String({ maxLength: runLabelLimits.nameMax, description: 'Empty for none' }),
    note: Type.String({ maxLength: runLabelLimits.noteMax, description: 'Empty for none' }),
    baseline: Type.Boolean({
      description: 'Others of its scenario are compared with it; one run of a scenario can be',
    }),
  },
  closed,
);
export type RunLabels = Static<typeof RunLabels>;

const ofUser = {
  labels: Type.Optional(RunLabels),
  imported: Type.Optional(
    Type.Literal(true, {
      description: 'It was exported elsewhere: what it says of its machine is of another',
    }),
  ),
};

export const Run = Type.Object(
  {
    id: Type.String(),
    scenario: Scenario,
    scale: Scale,
    status: RunStatus,
    createdAtMs: Type.Integer(),
    startedAtMs: Type.Union([Type.Integer(), Type.Null()]),
    endedAtMs: Type.Union([Type.Integer(), Type.Null()]),
    progress: Progress,
    points: Type.Array(Point),
    claims: Type.Array(ClaimResult),
    environment: Type.Union([Environment, Type.Null()]),
    watched: Type.Boolean({ description: 'Whether a dashboard followed the run while it was measured' }),
    error: Type.Union([ErrorBody, Type.Null()]),
    recordedOn: Type.Optional(
      Type.String({
        description: 'Of a run that comes with the lab: the machine that measured it, and when',
      }),
    ),
    ...ofUser,
  },
  closed,
);
export type Run = Static<typeof Run>;

/** A run as it appears in lists, without its points. */
export const RunSummary = Type.Object(
  {
    id: Type.String(),
    scenarioId: Type.String(),
    scenarioTitle: Type.String(),
    scale: Scale,
    status: RunStatus,
    createdAtMs: Type.Integer(),
    startedAtMs: Type.Union([Type.Integer(), Type.Null()]),
    endedAtMs: Type.Union([Type.Integer(), Type.Null()]),
    progress: Progress,
    verdicts: Type.Array(
      Type.Object({ id: Type.String(), verdict: Verdict, provisional: Type.Boolean() }, closed),
    ),
    ...ofUser,
  },
  closed,
);
export type RunSummary = Static<typeof RunSummary>;

/** A run at full scale that comes with the lab, for machines that have none of their own. */
export const RecordedRunSummary = Type.Object(
  { ...RunSummary.properties, recordedOn: Type.String() },
  closed,
);
export type RecordedRunSummary = Static<typeof RecordedRunSummary>;

export const RecordedRunList = Type.Object({ runs: Type.Array(RecordedRunSummary) }, closed);
export type RecordedRunList = Static<typeof RecordedRunList>;

/** The state of one instance at a tick; rates are over the time since the previous tick. */
export const InstanceSample = Type.Object(
  {
    instance: Type.Integer(),
    enqueuePerSec: Type.Number(),
    dequeuePerSec: Type.Number(),
    cpu: Type.Number({ description: 'Cores kept busy by the process, 0 to the number of cores' }),
    latencyMs: Type.Object({ p50: Type.Number(), p99: Type.Number() }, closed),
    waitMsByClass: Type.Record(Type.String(), Type.Number(), {
      description: 'Time that sessions waited since the last tick, by wait class, in milliseconds',
    }),
    shards: Type.Array(
      Type.Object(
        {
          shard: Type.Integer(),
          backlog: Type.Integer({ description: 'Messages committed and not yet consumed' }),
          partitions: Type.Array(
            Type.Object(
              {
                partition: Type.Integer(),
                state: Type.String(),
                fill: Type.Number({ description: '0 to 1' }),
                drained: Type.Number({ description: '0 to 1' }),
              },
              closed,
            ),
          ),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type InstanceSample = Static<typeof InstanceSample>;

/** A fault of the scenario, the cluster's reaction to it, or a conversion of the queue. */
export const TickEvent = Type.Object(
  {
    type: Type.Union([
      ...FaultKind.anyOf,
      Type.Literal('taken over'),
      Type.Literal('returned'),
      Type.Literal('converting'),
      Type.Literal('converted'),
    ]),
    instance: Type.Integer({ description: '0: the event concerns the queue' }),
    agoMs: Type.Number({ description: 'How long before the tick it happened' }),
  },
  closed,
);
export type TickEvent = Static<typeof TickEvent>;

/** Streamed about four times a second while a trial runs. `atMs` counts from the start of the run. */
export const Tick = Type.Object(
  {
    atMs: Type.Integer(),
    trial: Type.Integer(),
    ...Combination.properties,
    phase: Type.Union([Type.Literal('warmup'), Type.Literal('measure'), Type.Literal('drain')]),
    instances: Type.Array(InstanceSample),
    events: Type.Optional(Type.Array(TickEvent, { description: 'Events since the previous tick' })),
  },
  closed,
);
export type Tick = Static<typeof Tick>;

/**
 * Server-sent events of a run. The SSE field `event` is `type`; `id` is a counter from which a client can resume with
 * Last-Event-ID. A new connection begins with a `snapshot`, as does one whose Last-Event-ID is no longer kept.
 */
export const RunEvent = Type.Union([
  Type.Object({ type: Type.Literal('snapshot'), run: Run, ticks: Type.Array(Tick) }, closed),
  Type.Object({ type: Type.Literal('status'), status: RunStatus, error: Type.Optional(ErrorBody) }, closed),
  Type.Object({ type: Type.Literal('progress'), progress: Progress }, closed),
  Type.Object({ type: Type.Literal('tick'), tick: Tick }, closed),
  Type.Object(
    { type: Type.Literal('point'), point: Point, claims: Type.Array(ClaimResult) },
    {
      ...closed,
      description:
        'A point was finished, or replaced by its median over more repeats; with the verdicts so far',
    },
  ),
  Type.Object({ type: Type.Literal('end'), run: Run }, closed),
]);
export type RunEvent = Static<typeof RunEvent>;

/** Identifies a point inside its run: points with the same key are the same combination of parameters. */
export function pointKey({ program, system, params }: Combination): string {
  const named = Object.keys(params)
    .sort()
    .map((name) => `${name}=${params[name]}`);
  return [program, system, ...named].join('/');
}
