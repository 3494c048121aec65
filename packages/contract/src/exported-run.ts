/** A run as a file, which another server imports: all that this one shows of it. */
import Type, { type Static } from 'typebox';
import { boundedSchema } from './bounded-schema.ts';
import { Run } from './run.ts';
import { Tick } from './run-event.ts';
import { scenarioLimits } from './scenario.ts';

/** Beside the bounds of `boundedSchema`. */
export const exportedRunLimits = {
  /** More claims than a scenario can name, and four times the clauses of the largest verdict. */
  claimsMax: 64,
  clausesMax: 256,
  /** The longest recordings have some 5,000. */
  ticksMax: 10_000,
  /** Bytes of the verdicts as JSON, five times the largest: lists of runs read those of every run. */
  claimsBytesMax: 256 * 1024,
  /** Values of all kinds: the largest run, of 512 points with five repeats and its ticks, has some 1.5 million. */
  valuesMax: 2_500_000,
} as const;

const { claims } = Run.properties;
const { clauses } = claims.items.properties;
const { claimsMax, clausesMax, ticksMax } = exportedRunLimits;

const claim = Type.Object(
  { ...claims.items.properties, clauses: { ...clauses, maxItems: clausesMax } },
  { additionalProperties: false },
);

export const ExportedRun = boundedSchema(
  Type.Object(
    {
      ...Run.properties,
      points: { ...Run.properties.points, maxItems: scenarioLimits.pointsMax },
      claims: Type.Array(claim, { maxItems: claimsMax }),
      ticks: Type.Optional(
        Type.Array(Tick, {
          maxItems: ticksMax,
          description:
            'In the order of their times: the samples that are kept of its trials, which its replay shows',
        }),
      ),
    },
    { additionalProperties: false },
  ),
);
export type ExportedRun = Static<typeof ExportedRun>;
