/**
 * The scenario: one experiment as data. The JSON Schema that editors use (`scenarios/scenario.schema.json`) is
 * generated from this file, so the command line, the server and the dashboard refuse the same documents.
 */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;

/** The implementations a driver exists for. */
export const Implementation = Type.Union([Type.Literal('sharded'), Type.Literal('unsharded')], {
  description: 'Which queue does the work',
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
    'embedded, the default: sessions run in the process of their instance; remote: in processes of their own, over a socket',
});
export type SessionPlace = Static<typeof SessionPlace>;

export const Rows = Type.Union([Type.Literal('none'), Type.Literal('together'), Type.Literal('apart')], {
  description:
    'Whether a dequeuer keeps a row of the application for each message, and whether in the transaction that consumes it (together) or in one of its own before that (apart)',
});
export type Rows = Static<typeof Rows>;

export const DequeuerPlace = Type.Union([Type.Literal('beside'), Type.Literal('elsewhere')], {
  description:
    'beside, the default: a dequeuer runs on the instance of its enqueuer; elsewhere: on the next one, so that sharded messages are forwarded to it',
});
export type DequeuerPlace = Static<typeof DequeuerPlace>;

export const FaultKind = Type.Union([
  Type.Literal('kill'),
  Type.Literal('pause'),
  Type.Literal('stop'),
  Type.Literal('start'),
]);
export type FaultKind = Static<typeof FaultKind>;

/** Upper bounds of one scenario. A run past them is refused before it starts. */
export const scenarioLimits = {
  bytesMax: 256 * 1024,
  threadsMax: 256,
  instancesMax: 16,
  /** Of a topic, as the engine has it. */
  subscribersMax: 1_024,
  /** Enqueuers and dequeuers of a trial, over all instances. */
  sessionsMax: 8_192,
  /** Messages that wait before the warm-up: two million of 512 bytes fill a disk with 1 GiB in some ten seconds. */
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
      description: 'Bound of the drain; what remains after it is counted as left, not lost',
    }),
  },
  { ...closed, description: 'Lengths of the phases of one point, in milliseconds' },
);

const axis = <T extends Type.TSchema>(item: T, description: string) =>
  Type.Array(item, { minItems: 1, maxItems: limit.axisValuesMax, uniqueItems: true, description });

const PayloadBytes = Type.Integer({
  minimum: 32,
  maximum: limit.payloadBytesMax,
  description:
    'At least 32: the check sum and the identity of the message lie in it. Above 1 MiB it is streamed in chunks: sharded queues and embedded sessions only',
});
const OperationsPerTransaction = Type.Integer({ minimum: 1, maximum: limit.operationsPerTransactionMax });
const Subscribers = Type.Integer({ minimum: 1, maximum: limit.subscribersMax });
const CacheMiB = Type.Integer({ minimum: 1, maximum: limit.cacheMiBMax });

/** The sweep: one point is run for every combination. What an optional axis names replaces the one value given elsewhere. */
const Axes = Type.Object(
  {
    implementation: axis(Implementation, 'Queues to compare'),
    instances: axis(Type.Integer({ minimum: 1, maximum: limit.instancesMax }), 'Instances (processes), N'),
    threads: axis(
      Type.Integer({ minimum: 1, maximum: limit.threadsMax }),
      'Enqueuer sessions, and as many dequeuer sessions, over all instances, T',
    ),
    roundTripMs: axis(
      Type.Number({ minimum: 0, maximum: limit.roundTripMsMax }),
      'Emulated client round trip of every call, in milliseconds; 0 is none',
    ),
    operationsPerTransaction: Type.Optional(
      axis(OperationsPerTransaction, 'Instead of the one value of the workload'),
    ),
    payloadBytes: Type.Optional(axis(PayloadBytes, 'Instead of the one value of the workload')),
    subscribers: Type.Optional(axis(Subscribers, 'Instead of the one value of the workload')),
    backlog: Type.Optional(
      axis(
        Type.Integer({ minimum: 0, maximum: limit.backlogMax }),
        'Messages that wait before the warm-up, over all instances; 0 is none',
      ),
    ),
    durability: Type.Optional(axis(Durability, 'Instead of the one value of the queue')),
    cacheMiB: Type.Optional(axis(CacheMiB, 'Instead of the one value of the queue')),
    rows: Type.Optional(axis(Rows, 'Rows of the application beside the messages; one sharded instance')),
    dequeuers: Type.Optional(axis(DequeuerPlace, 'Where dequeuers run, with remote sessions')),
  },
  { ...closed, description: 'Sweep axes' },
);

export const Scenario = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    version: Type.Literal(1),
    id: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,63}$', description: 'Lower-case words and dashes' }),
    title: Type.String({ minLength: 1, maxLength: 120 }),
    question: Type.String({ minLength: 1, maxLength: 400 }),
    document: Type.Optional(Type.Literal('A')),
    figure: Type.Optional(Type.String({ maxLength: 40 })),
    claims: Type.Array(Type.String({ pattern: '^[A-Z][0-9]{1,2}$' }), {
      maxItems: 20,
      uniqueItems: true,
      description: 'Claims of the documents that this scenario judges',
    }),
    seed: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }),
    queue: Type.Object(
      {
        durability: Durability,
        shardsPerInstance: Type.Integer({ minimum: 1, maximum: 16 }),
        type: Type.Optional(
          Type.Union([Type.Literal('queue'), Type.Literal('topic')], {
            description:
              'Default queue. On a topic every enqueuer comes with a dequeuer for each subscriber. The engine has no unsharded topics: with "unsharded" each subscriber has a queue of its own, and a transaction puts a copy into every one, as job tables fan out',
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
            'Enqueuers of an instance pause while more than this many of its messages wait (beside the backlog that it began with), so that a slow dequeuer meets a bounded backlog',
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
              description: 'After the begin of the measured phase',
            }),
          },
          closed,
        ),
        {
          minItems: 1,
          maxItems: limit.faultsMax,
          description:
            'What happens to the process of an instance in every trial, with remote sessions. kill: SIGKILL; pause: SIGSTOP, until a survivor ends it; stop: in order; start: its process again, which gets the instance back',
        },
      ),
    ),
    conversion: Type.Optional(
      Type.Object(
        {
          atMs: Type.Integer({
            minimum: 0,
            maximum: limit.phaseMsMax,
            description: 'After the begin of the measured phase',
          }),
        },
        {
          ...closed,
          description:
            'In every trial the unsharded queue becomes a sharded one, step by step, while its sessions go on',
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
        { ...closed, description: 'What differs when the scenario is run with scale quick' },
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
        { maxItems: 8, description: "The document's own numbers: drawn as labelled lines, never as points" },
      ),
    ),
  },
  { ...closed, title: 'Shardlab scenario' },
);
export type Scenario = Static<typeof Scenario>;

export const Scale = Type.Union([Type.Literal('quick'), Type.Literal('full')]);
export type Scale = Static<typeof Scale>;
