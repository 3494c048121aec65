/**
 * The scenario: one experiment as data. The JSON Schema that editors use (`scenarios/scenario.schema.json`) is
 * generated from this file, so the command line, the server and the dashboard refuse the same documents.
 */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;

/** The implementations for which the lab has a driver. */
export const Implementation = Type.Union([Type.Literal('sharded'), Type.Literal('unsharded')], {
  description: 'The kind of queue',
});
export type Implementation = Static<typeof Implementation>;

export const Durability = Type.Union(
  [Type.Literal('durable'), Type.Literal('relaxed'), Type.Literal('memory')],
  {
    description:
      'durable: synced before it is acknowledged; relaxed: survives a killed process; memory: nonpersistent',
  },
);
export type Durability = Static<typeof Durability>;

export const SessionPlace = Type.Union([Type.Literal('embedded'), Type.Literal('remote')], {
  description:
    'embedded, the default: sessions run in the process of their instance; remote: they run in separate processes and are connected by a socket',
});
export type SessionPlace = Static<typeof SessionPlace>;

export const Rows = Type.Union([Type.Literal('none'), Type.Literal('together'), Type.Literal('separate')], {
  description:
    'Whether a dequeuer inserts an application row for each message: not at all (none), in the transaction that consumes the message (together), or in a separate transaction before it (separate)',
});
export type Rows = Static<typeof Rows>;

export const DequeuerPlace = Type.Union([Type.Literal('same-instance'), Type.Literal('other-instance')], {
  description:
    'same-instance, the default: a dequeuer runs on the instance of its enqueuer; other-instance: on the next instance, to which sharded messages are then forwarded',
});
export type DequeuerPlace = Static<typeof DequeuerPlace>;

export const FaultKind = Type.Union([
  Type.Literal('kill'),
  Type.Literal('pause'),
  Type.Literal('stop'),
  Type.Literal('start'),
]);
export type FaultKind = Static<typeof FaultKind>;

/** Upper bounds of one scenario. A scenario beyond them is refused before it starts. */
export const scenarioLimits = {
  bytesMax: 256 * 1024,
  threadsMax: 256,
  instancesMax: 16,
  /** The engine's own limit for a topic. */
  subscribersMax: 1_024,
  /** Enqueuers and dequeuers of a trial, over all instances. */
  sessionsMax: 8_192,
  /** Messages enqueued before the warm-up: two million of 512 bytes write 1 GiB in about ten seconds. */
  backlogMax: 2_000_000,
  cacheMiBMax: 4_096,
  /** Above 1 MiB a payload is streamed. */
  payloadBytesMax: 1024 * 1024 * 1024,
  operationsPerTransactionMax: 10_000,
  roundTripMsMax: 1_000,
  phaseMsMax: 10 * 60_000,
  repeatsMax: 20,
  axisValuesMax: 16,
  faultsMax: 8,
  pointsMax: 512,
} as const;

const limit = scenarioLimits;

const Phases = Type.Object(
  {
    warmupMs: Type.Integer({ minimum: 0, maximum: limit.phaseMsMax }),
    measureMs: Type.Integer({ minimum: 100, maximum: limit.phaseMsMax }),
    drainMs: Type.Integer({
      minimum: 0,
      maximum: limit.phaseMsMax,
      description: 'Upper bound of the drain; messages that remain after it count as left, not as lost',
    }),
  },
  { ...closed, description: 'Durations of the phases of one point, in milliseconds' },
);

const axis = <T extends Type.TSchema>(item: T, description: string) =>
  Type.Array(item, { minItems: 1, maxItems: limit.axisValuesMax, uniqueItems: true, description });

const PayloadBytes = Type.Integer({
  minimum: 32,
  maximum: limit.payloadBytesMax,
  description:
    'At least 32, because the payload holds a checksum and the identity of the message. Payloads above 1 MiB are streamed in chunks: sharded queues and embedded sessions only',
});
const OperationsPerTransaction = Type.Integer({ minimum: 1, maximum: limit.operationsPerTransactionMax });
const Subscribers = Type.Integer({ minimum: 1, maximum: limit.subscribersMax });
const CacheMiB = Type.Integer({ minimum: 1, maximum: limit.cacheMiBMax });

/** The sweep: one point for every combination of values. An optional axis replaces the single value given in `workload` or `queue`. */
const Axes = Type.Object(
  {
    implementation: axis(Implementation, 'Kinds of queue to compare'),
    instances: axis(Type.Integer({ minimum: 1, maximum: limit.instancesMax }), 'Instances (processes), N'),
    threads: axis(
      Type.Integer({ minimum: 1, maximum: limit.threadsMax }),
      'Enqueuer sessions over all instances, and as many dequeuer sessions, T',
    ),
    roundTripMs: axis(
      Type.Number({ minimum: 0, maximum: limit.roundTripMsMax }),
      'Emulated client round trip of every call, in milliseconds; 0 for none',
    ),
    operationsPerTransaction: Type.Optional(
      axis(OperationsPerTransaction, 'Replaces the single value of the workload'),
    ),
    payloadBytes: Type.Optional(axis(PayloadBytes, 'Replaces the single value of the workload')),
    subscribers: Type.Optional(axis(Subscribers, 'Replaces the single value of the workload')),
    backlog: Type.Optional(
      axis(
        Type.Integer({ minimum: 0, maximum: limit.backlogMax }),
        'Messages in the queue before the warm-up, over all instances; 0 for none',
      ),
    ),
    durability: Type.Optional(axis(Durability, 'Replaces the single value of the queue')),
    cacheMiB: Type.Optional(axis(CacheMiB, 'Replaces the single value of the queue')),
    rows: Type.Optional(
      axis(Rows, 'Application rows that accompany the messages; one sharded instance only'),
    ),
    dequeuers: Type.Optional(axis(DequeuerPlace, 'Where dequeuers run; remote sessions only')),
  },
  { ...closed, description: 'Sweep axes' },
);

/** A study's id: the name of its folder. */
export const StudyId = Type.String({
  pattern: '^[a-z0-9][a-z0-9-]{0,63}$',
  description: 'The study to which the scenario belongs; its document states the claims',
});

export const Scenario = Type.Object(
  {
    $schema: Type.Optional(Type.String({ maxLength: 400 })),
    version: Type.Literal(1),
    id: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,63}$', description: 'Lower-case words and dashes' }),
    title: Type.String({ minLength: 1, maxLength: 120 }),
    question: Type.String({ minLength: 1, maxLength: 400 }),
    study: Type.Optional(StudyId),
    figure: Type.Optional(Type.String({ maxLength: 40 })),
    claims: Type.Array(Type.String({ pattern: '^[A-Z][0-9]{1,2}$' }), {
      maxItems: 20,
      uniqueItems: true,
      description: 'Claims of the documents that this scenario tests',
    }),
    seed: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }),
    queue: Type.Object(
      {
        durability: Durability,
        shardsPerInstance: Type.Integer({ minimum: 1, maximum: 16 }),
        type: Type.Optional(
          Type.Union([Type.Literal('queue'), Type.Literal('topic')], {
            description:
              'Default: queue. With a topic, every enqueuer has one dequeuer per subscriber. The engine has no unsharded topics: with "unsharded" each subscriber has its own queue, and a transaction enqueues a copy to each of them, as job tables do',
          }),
        ),
        cacheMiB: Type.Optional(CacheMiB),
      },
      closed,
    ),
    workload: Type.Object(
      {
        payloadBytes: PayloadBytes,
        operationsPerTransaction: OperationsPerTransaction,
        subscribers: Type.Optional(Subscribers),
        sessions: Type.Optional(SessionPlace),
        backlogMax: Type.Integer({
          minimum: 1,
          maximum: 10_000_000,
          description:
            'Enqueuers of an instance pause while its backlog exceeds this many messages (not counting the initial backlog), so that slow dequeuers cannot make it grow without bound',
        }),
      },
      closed,
    ),
    sweep: Axes,
    phases: Phases,
    faults: Type.Optional(
      Type.Array(
        Type.Object(
          {
            kind: FaultKind,
            instance: Type.Integer({ minimum: 1, maximum: limit.instancesMax }),
            atMs: Type.Integer({
              minimum: 0,
              maximum: limit.phaseMsMax,
              description: 'From the start of the measured phase',
            }),
          },
          closed,
        ),
        {
          minItems: 1,
          maxItems: limit.faultsMax,
          description:
            'Faults injected into instance processes in every trial; remote sessions only. kill: SIGKILL; pause: SIGSTOP, until a survivor kills the process; stop: orderly shutdown; start: start the process again, which gets its instance back',
        },
      ),
    ),
    conversion: Type.Optional(
      Type.Object(
        {
          atMs: Type.Integer({
            minimum: 0,
            maximum: limit.phaseMsMax,
            description: 'From the start of the measured phase',
          }),
        },
        {
          ...closed,
          description:
            'In every trial the unsharded queue is converted to a sharded one while its sessions keep working',
        },
      ),
    ),
    repeats: Type.Integer({ minimum: 1, maximum: limit.repeatsMax }),
    quick: Type.Optional(
      Type.Object(
        {
          sweep: Type.Optional(Type.Partial(Axes, closed)),
          phases: Type.Optional(Phases),
          repeats: Type.Optional(Type.Integer({ minimum: 1, maximum: limit.repeatsMax })),
        },
        { ...closed, description: 'Values that replace the above when the scenario is run with scale quick' },
      ),
    ),
    references: Type.Optional(
      Type.Array(
        Type.Object(
          {
            label: Type.String({ minLength: 1, maxLength: 80 }),
            metric: Type.Union([Type.Literal('dequeuePerSec'), Type.Literal('enqueuePerSec')]),
            value: Type.Number({ exclusiveMinimum: 0 }),
            implementation: Implementation,
            claim: Type.String({ pattern: '^[A-Z][0-9]{1,2}$' }),
          },
          closed,
        ),
        { maxItems: 8, description: "The document's own figures, drawn as labelled lines, never as points" },
      ),
    ),
  },
  { ...closed, title: 'Shardlab scenario' },
);
export type Scenario = Static<typeof Scenario>;

export const Scale = Type.Union([Type.Literal('quick'), Type.Literal('full')]);
export type Scale = Static<typeof Scale>;
