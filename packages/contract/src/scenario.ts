/**
 * The scenario: one experiment as data. Valid parameters depend on its program, so the lab narrows this schema for each program;
 * the JSON Schema for editors (`scenarios/scenario.schema.json`) combines those.
 */
import Type, { type Static } from 'typebox';
import { Params, ParamValue } from './parameter.ts';
import { patterns } from './patterns.ts';

const closed = { additionalProperties: false } as const;

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
  systemsMax: 32,
  faultsMax: 8,
  pointsMax: 512,
} as const;

const limit = scenarioLimits;

/** References of one scenario. */
export const referencesMax = 8;

/** The version of the form below. Documents of version 1 are refused with their translation. */
export const scenarioVersion = 2;

export const Phases = Type.Object(
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
export type Phases = Static<typeof Phases>;

/** The values of one axis of the sweep. */
/* @__NO_SIDE_EFFECTS__ */
export const axisOf = <T extends Type.TSchema>(item: T, description: string) =>
  Type.Array(item, { minItems: 1, maxItems: limit.axisValuesMax, uniqueItems: true, description });

/** The systems that are compared. */
/* @__NO_SIDE_EFFECTS__ */
export const systemsOf = <T extends Type.TSchema>(item: T) =>
  Type.Array(item, {
    minItems: 1,
    maxItems: limit.systemsMax,
    uniqueItems: true,
    description: 'The systems that are compared',
  });

/* @__NO_SIDE_EFFECTS__ */
const name = (description: string) =>
  Type.String({
    pattern: patterns.words.pattern,
    description: `${description}: lower-case words and dashes`,
  });

const Systems = systemsOf(name('Name of a system'));
const Sweep = Type.Record(Type.String(), axisOf(ParamValue, 'Values of the parameter'), {
  description: 'Axes: one point for every combination of values, for each system',
});

/* @__NO_SIDE_EFFECTS__ */
export const sweepOfSystems = <T extends Type.TSchema>(sweep: T) =>
  Type.Record(Type.String(), sweep, {
    description:
      'Systems that are measured at some of the values of an axis only, such as slow ones, with these values. Not for a quick run whose sweep is given in quick',
  });

export const ScenarioFault = Type.Object(
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
);

/** A raw loop that has other transactions than the trial beside which it runs. */
export const RawProbe = Type.Object(
  {
    cycle: Type.Union([Type.Literal('insert'), Type.Literal('insert-select-delete')]),
    operationsPerTransaction: Type.Integer({ minimum: 1, maximum: limit.operationsPerTransactionMax }),
    pageBytes: Type.Union([Type.Literal(4096), Type.Literal(16_384)]),
  },
  closed,
);

export const Scenario = Type.Object(
  {
    $schema: Type.Optional(Type.String({ maxLength: 400 })),
    version: Type.Literal(scenarioVersion),
    id: name('Name of the scenario'),
    title: Type.String({ minLength: 1, maxLength: 120 }),
    question: Type.String({ minLength: 1, maxLength: 400 }),
    study: Type.Optional(name('The study to which the scenario belongs')),
    figure: Type.Optional(
      Type.String({ maxLength: 40, description: 'The figure of the document that it replays' }),
    ),
    claims: Type.Array(Type.String({ pattern: patterns.claim.pattern }), {
      maxItems: 20,
      uniqueItems: true,
      description: 'Claims of the documents that this scenario tests',
    }),
    seed: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }),
    program: name('What the sessions do'),
    systems: Systems,
    parameters: Params,
    sweep: Sweep,
    sweepOf: Type.Optional(sweepOfSystems(Sweep)),
    phases: Phases,
    faults: Type.Optional(
      Type.Array(ScenarioFault, {
        minItems: 1,
        maxItems: limit.faultsMax,
        description:
          'Faults injected into instance processes in every trial; remote sessions only. kill: SIGKILL; pause: SIGSTOP, until a survivor kills the process; stop: orderly shutdown; start: start the process again, which gets its instance back',
      }),
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
    kills: Type.Optional(
      Type.Boolean({
        description:
          'Whether one further trial of each system and durability is killed under load, to show that what was acknowledged survives; default true',
      }),
    ),
    probes: Type.Optional(
      Type.Union([Type.Boolean(), RawProbe], {
        description:
          'Whether bounds are measured before and after each trial, so that rates are known as a share of them: a log alone and groups in SQLite with the sessions of the trial, and the raw limit of SQLite with its transactions, or with others; default false',
      }),
    ),
    quick: Type.Optional(
      Type.Object(
        {
          systems: Type.Optional(Systems),
          sweep: Type.Optional(Sweep),
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
            figure: Type.String({ description: 'Name of a figure of the program' }),
            value: Type.Number({ exclusiveMinimum: 0 }),
            system: name('The system to which it is compared'),
            claim: Type.String({ pattern: patterns.claim.pattern }),
          },
          closed,
        ),
        {
          maxItems: referencesMax,
          description: "The document's own figures, drawn as labelled lines, never as points",
        },
      ),
    ),
  },
  { ...closed, title: 'Shardlab scenario' },
);
export type Scenario = Static<typeof Scenario>;

/** Whether a system is measured at a combination of the sweep; a parameter that is not in `params` does not count. */
export function isSwept(
  { sweepOf, quick }: Pick<Scenario, 'sweepOf' | 'quick'>,
  { scale, system, params }: { scale: Scale; system: string; params: Params },
): boolean {
  if (scale === 'quick' && quick?.sweep !== undefined) return true;
  return Object.entries(sweepOf?.[system] ?? {}).every(([name, values]) => {
    const value = params[name];
    return value === undefined || values.includes(value);
  });
}

export const Scale = Type.Union([Type.Literal('quick'), Type.Literal('full')]);
export type Scale = Static<typeof Scale>;
