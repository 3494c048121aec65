/** Responses of the server besides queues and runs: health, scenarios, lists of runs, claims. */
import Type, { type Static } from 'typebox';
import { ClaimResult } from './claim.ts';
import { DamageFinding } from './cluster.ts';
import { ErrorBody } from './error-body.ts';
import { faultsListedMax } from './find-faults.ts';
import { patterns } from './patterns.ts';
import { RunStatus, RunSummary, runLabelLimits } from './run.ts';
import { Scale, Scenario } from './scenario.ts';

const closed = { additionalProperties: false } as const;
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const Health = Type.Object(
  {
    status: Type.Union([Type.Literal('ok'), Type.Literal('degraded'), Type.Literal('failed')], {
      description:
        'ok: every instance commits and nothing stored is known to be damaged; degraded: some commit, or something is damaged; failed: none commits',
    }),
    version: Type.String(),
    uptimeMs: Type.Integer(),
    reasons: Type.Optional(
      Type.Array(Type.Object({ code: Type.String(), message: Type.String() }, closed), {
        description:
          'Why the server as a whole is not ready, even if instances commit: files that were deleted or replaced while in use',
      }),
    ),
    instances: Type.Array(
      Type.Object(
        {
          instance: Type.Integer(),
          state: Type.Union([Type.Literal('serving'), Type.Literal('failed')], {
            description: 'serving: it committed a probe within the last second',
          }),
          reason: nullable(Type.Object({ code: Type.String(), message: Type.String() }, closed)),
          damage: Type.Array(DamageFinding, { description: 'What the last scrub found' }),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type Health = Static<typeof Health>;

/** Health for clients that have not shown the key of the server. */
export const HealthStatus = Type.Pick(Health, ['status'], closed);

/** Without the key of the server it is the status alone. */
export const Liveness = Type.Object(
  {
    status: Type.Literal('ok'),
    version: Type.Optional(Type.String()),
    uptimeMs: Type.Optional(Type.Integer()),
  },
  closed,
);
export type Liveness = Static<typeof Liveness>;

/** The size of a run before it starts. `points` counts combinations, `trials` counts their repeats. */
export const PlanFigures = Type.Object(
  { points: Type.Integer(), trials: Type.Integer(), estimatedMs: Type.Integer() },
  closed,
);
export type PlanFigures = Static<typeof PlanFigures>;

/** The maximum load of a run's trials on its machine; trials run one after the other. */
export const PlanLoad = Type.Object(
  {
    sessionsMax: Type.Integer({ description: 'Sessions that enqueue and dequeue at the same time' }),
    processesMax: Type.Integer({ description: 'Processes that serve instances or hold sessions' }),
    isPaced: Type.Boolean({
      description:
        'Whether messages are sent at intended times; otherwise sessions work as fast as they can, and take what the cores give',
    }),
    coresBusyMax: Type.Integer({ description: 'Cores that these processes can keep busy, of `cores`' }),
    cores: Type.Integer({ description: 'Of this machine' }),
  },
  closed,
);
export type PlanLoad = Static<typeof PlanLoad>;

export const ScenarioSource = Type.Union([Type.Literal('built-in'), Type.Literal('uploaded')]);
export type ScenarioSource = Static<typeof ScenarioSource>;

export const ScenarioEntry = Type.Object(
  {
    source: ScenarioSource,
    scenario: Scenario,
    plans: Type.Object({ quick: PlanFigures, full: PlanFigures }, closed),
  },
  closed,
);
export type ScenarioEntry = Static<typeof ScenarioEntry>;

export const ScenarioList = Type.Object({ scenarios: Type.Array(ScenarioEntry) }, closed);
export type ScenarioList = Static<typeof ScenarioList>;

/** A fault of a document and its JSON pointer; an empty path means the whole document. */
export const Fault = Type.Object({ path: Type.String(), message: Type.String() }, closed);
export type Fault = Static<typeof Fault>;

/**
 * `line` and `column` count from 1 and are present if the text is not JSON. `plan`, `load` and `diskBytesMax` are null for an
 * invalid scenario; `load` is also null if no parameter gives the number of a trial's sessions.
 */
export const ScenarioValidation = Type.Object(
  {
    valid: Type.Boolean(),
    errors: Type.Array(Fault, { maxItems: faultsListedMax }),
    more: Type.Boolean({ description: 'There are further errors, which are not listed' }),
    line: Type.Optional(Type.Integer()),
    column: Type.Optional(Type.Integer()),
    plan: nullable(PlanFigures),
    load: nullable(PlanLoad),
    diskBytesMax: nullable(
      Type.Integer({ description: 'Disk space that the largest trial of the plan may need, bytes' }),
    ),
  },
  closed,
);
export type ScenarioValidation = Static<typeof ScenarioValidation>;

export const Id = Type.Object({ id: Type.String() }, closed);
export type Id = Static<typeof Id>;

export const StartRun = Type.Object(
  {
    scenario: Type.Union([Type.String({ maxLength: 64 }), Type.Object({}, { additionalProperties: true })], {
      description: 'The id of a scenario, or a scenario as an object',
    }),
    scale: Type.Optional(Scale),
  },
  closed,
);
export type StartRun = Static<typeof StartRun>;

export const runListLimits = { limitDefault: 50, limitMax: 200 } as const;

export const runSorts = ['added', 'started', 'title', 'scale', 'status', 'duration'] as const;
export const RunSort = Type.Enum(runSorts);
export type RunSort = Static<typeof RunSort>;

export const SortOrder = Type.Enum(['asc', 'desc']);
export type SortOrder = Static<typeof SortOrder>;

export const RunListQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: runListLimits.limitMax })),
    after: Type.Optional(
      Type.String({
        pattern: patterns.runPage.pattern,
        description: 'The `next` of the previous page, which must have had the same sort and order',
      }),
    ),
    sort: Type.Optional({
      ...RunSort,
      description:
        'By what they are ordered, default added: when this server got them. title: the name of the run, or else the title of its scenario. duration: those without one come last in both orders. Of equals the one added last comes first, or last if ascending',
    }),
    order: Type.Optional({ ...SortOrder, description: 'Default desc' }),
    scenario: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'Only runs of this scenario' }),
    ),
    status: Type.Optional({ ...RunStatus, description: 'Only runs with this status' }),
    scale: Type.Optional({ ...Scale, description: 'Only runs at this scale' }),
    origin: Type.Optional(
      Type.Enum(['here', 'imported'], { description: 'Only runs of this server, or only imported ones' }),
    ),
    text: Type.Optional(
      Type.String({
        maxLength: runLabelLimits.textMax,
        description: 'Only runs whose name, note, title, scenario or id contain it, in upper or lower case',
      }),
    ),
  },
  closed,
);
export type RunListQuery = Static<typeof RunListQuery>;

export const RunList = Type.Object(
  {
    runs: Type.Array(RunSummary),
    next: nullable(Type.String()),
    damaged: Type.Optional(
      Type.Array(Type.Object({ id: Type.String(), damage: Type.String() }, closed), {
        description: 'Runs of this page that cannot be read, and why. Each can be deleted',
      }),
    ),
    notices: Type.Optional(
      Type.Array(Type.String(), {
        description: 'With the first page: what is wrong with the history as a whole, in sentences',
      }),
    ),
  },
  closed,
);
export type RunList = Static<typeof RunList>;

/** The load with which a measurement that begins now would share the machine. */
export const MachineState = Type.Object(
  {
    cores: Type.Integer({ minimum: 1 }),
    coresBusy: Type.Number({
      minimum: 0,
      description: 'Cores kept busy by all processes, over the last quarter of a second',
    }),
    loadRunning: Type.Boolean({ description: 'Whether the load of the cluster page is on' }),
    runsUnderWay: Type.Integer({
      minimum: 0,
      description: 'Runs that have not ended, waiting ones included',
    }),
    calibrating: Type.Boolean({ description: "Whether this machine's costs are being measured" }),
  },
  closed,
);
export type MachineState = Static<typeof MachineState>;

export const RunCancelled = Type.Object({ id: Type.String(), status: RunStatus }, closed);
export type RunCancelled = Static<typeof RunCancelled>;

const { id, title, document, grade, weak, ...verdictFields } = ClaimResult.properties;

/** How many verdicts of a claim a response carries, the newest first; `judged` counts all of them. */
export const claimHistoryMax = 20;

const whose = {
  runId: Type.String(),
  scenarioId: Type.String(),
  scale: Scale,
  endedAtMs: Type.Integer(),
} as const;

const runKept = Type.Boolean({
  description: 'Whether this server still has the run; false for runs of the command line and deleted runs',
});

/**
 * A claim, its verdict with the best evidence (null if no finished run judged it), and all verdicts. Measurements of scenarios
 * under different conditions are judged together.
 */
export const ClaimLedgerEntry = Type.Object(
  {
    id,
    study: Type.String({ description: 'Id of the study to which it belongs' }),
    title,
    document,
    grade,
    weak,
    last: nullable(
      Type.Object(
        {
          ...verdictFields,
          ...whose,
          others: Type.Array(Type.Object({ ...whose, runKept }, closed), {
            description:
              'Runs of other scenarios from which it has conditions that its own run did not measure',
          }),
          recordedOn: nullable(
            Type.String({
              description:
                'Machine and date of the recorded run that it is from, as long as this machine has not judged the claim; null for a verdict of this machine',
            }),
          ),
          runKept,
        },
        closed,
      ),
    ),
    history: Type.Array(
      Type.Object(
        {
          verdict: verdictFields.verdict,
          value: verdictFields.value,
          provisional: verdictFields.provisional,
          ...whose,
        },
        closed,
      ),
      { description: `Newest first, at most ${claimHistoryMax}` },
    ),
    judged: Type.Integer({ description: 'Number of verdicts' }),
  },
  closed,
);
export type ClaimLedgerEntry = Static<typeof ClaimLedgerEntry>;

export const ClaimLedger = Type.Object({ claims: Type.Array(ClaimLedgerEntry) }, closed);
export type ClaimLedger = Static<typeof ClaimLedger>;

/** Invalid requests and scenarios list every fault, both as `errors` and in `details`. */
export const InvalidBody = Type.Object(
  { ...ErrorBody.properties, errors: Type.Array(Fault) },
  { additionalProperties: true },
);
export type InvalidBody = Static<typeof InvalidBody>;
