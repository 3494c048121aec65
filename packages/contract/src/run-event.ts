/** Events that the server streams while a run is in progress. */
import Type, { type Static } from 'typebox';
import { ClaimResult } from './claim.ts';
import { ErrorBody } from './error-body.ts';
import { Combination, Point } from './point.ts';
import { Progress, Run, RunStatus } from './run.ts';
import { FaultKind } from './scenario.ts';

const closed = { additionalProperties: false } as const;

/** The state of one instance at a tick. */
export const InstanceSample = Type.Object(
  {
    instance: Type.Integer(),
    spanMs: Type.Number({
      description:
        'Time since the previous sample of this instance, which its rates and waits cover. Ticks between two that are kept may be left out, so it can be less than the time between these two.',
    }),
    enqueuePerSec: Type.Number(),
    dequeuePerSec: Type.Number(),
    cpu: Type.Number({ description: 'Cores kept busy by the process, 0 to the number of cores' }),
    latencyMs: Type.Object({ p50: Type.Number(), p99: Type.Number() }, closed),
    waitMsByClass: Type.Record(Type.String(), Type.Number(), {
      description: 'Time that sessions waited in the span, by wait class, in milliseconds',
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

/** A year: no run is longer. */
export const runMsMax = 366 * 24 * 60 * 60_000;

/** Streamed about four times a second while a trial runs. `atMs` counts from the start of the run. */
export const Tick = Type.Object(
  {
    atMs: Type.Integer({ minimum: 0, maximum: runMsMax }),
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
  Type.Object(
    { type: Type.Literal('end'), run: Type.Optional(Run) },
    {
      ...closed,
      description: 'Without the run if that had ended before the snapshot, which then has all of it',
    },
  ),
]);
export type RunEvent = Static<typeof RunEvent>;
