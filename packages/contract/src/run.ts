/** A run: its scenario, status, points and verdicts, and what its user wrote beside it. */
import Type, { type Static } from 'typebox';
import { ClaimResult, Verdict } from './claim.ts';
import { ErrorBody } from './error-body.ts';
import { Point } from './point.ts';
import { Scale, Scenario } from './scenario.ts';

const closed = { additionalProperties: false } as const;

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

/** The end of the year 9999, as milliseconds since 1970: later dates are not written with four digits. */
export const epochMsMax = 253_402_300_799_999;

const EpochMs = Type.Integer({ minimum: 0, maximum: epochMsMax });

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

/** Characters of what a user writes of a run. */
export const runLabelLimits = { nameMax: 120, noteMax: 4_000, textMax: 120 } as const;

/** Name, note and baseline mark that a user gives a run. */
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
    createdAtMs: EpochMs,
    startedAtMs: Type.Union([EpochMs, Type.Null()]),
    endedAtMs: Type.Union([EpochMs, Type.Null()]),
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
    damaged: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Stored points that cannot be read, and why: they are left out, and verdicts counted them',
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
    createdAtMs: EpochMs,
    startedAtMs: Type.Union([EpochMs, Type.Null()]),
    endedAtMs: Type.Union([EpochMs, Type.Null()]),
    progress: Progress,
    verdicts: Type.Array(
      Type.Object({ id: Type.String(), verdict: Verdict, provisional: Type.Boolean() }, closed),
    ),
    errorCode: Type.Optional(
      Type.String({
        description: 'Why it failed; RUN_INTERRUPTED of a cancelled run that the end of the server cut off',
      }),
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
