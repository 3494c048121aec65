/** The result of a claim in a run: clause by clause, and as one verdict. */
import Type, { type Static } from 'typebox';
import { Provenance } from './provenance.ts';

const closed = { additionalProperties: false } as const;

export const Verdict = Type.Union([
  Type.Literal('holds'),
  Type.Literal('mixed'),
  Type.Literal('does-not-hold'),
  Type.Literal('inconclusive'),
  Type.Literal('not-comparable'),
]);
export type Verdict = Static<typeof Verdict>;

/** From, to. An array of two and no tuple: tuples are written differently in the versions of JSON Schema. */
const Interval = Type.Unsafe<[number, number]>(Type.Array(Type.Number(), { minItems: 2, maxItems: 2 }));

/** The unit of a clause that is answered by yes, 1, or no, 0. */
export const yesOrNo = 'yes or no';

/** One statement of a claim under one condition. */
export const ClaimClause = Type.Object(
  {
    condition: Type.Union([Type.String(), Type.Null()], {
      description:
        'Under which the statement was examined: "as it is", "on 2 instances"; null if it has only one',
    }),
    statement: Type.String(),
    verdict: Verdict,
    value: Type.Union([Type.Number(), Type.Null()]),
    unit: Type.String(),
    interval: Type.Union([Interval, Type.Null()], {
      description: '95 % interval from at least five repeats; null with fewer',
    }),
    repeats: Type.Integer({ description: 'Repeats from which the value was made' }),
    provenance: Provenance,
    provisional: Type.Boolean({ description: 'Fewer than five repeats, so there is no interval' }),
    reason: Type.String(),
  },
  closed,
);
export type ClaimClause = Static<typeof ClaimClause>;

/**
 * The verdict combines the clauses; value, unit and interval are those of the first clause that decided it, and
 * reason has a sentence for each condition.
 */
export const ClaimResult = Type.Object(
  {
    id: Type.String(),
    title: Type.String(),
    document: Type.String({ description: 'What the document says, in our words' }),
    grade: Type.Union([Type.Literal('table'), Type.Literal('prose'), Type.Literal('shape')]),
    weak: Type.Union([Type.String(), Type.Null()], {
      description:
        'Why a verdict that the claim holds proves little: an impostor can reach it; null if none was found',
    }),
    verdict: Verdict,
    value: Type.Union([Type.Number(), Type.Null()]),
    unit: Type.String(),
    interval: Type.Union([Interval, Type.Null()]),
    repeats: Type.Integer({ description: 'The fewest repeats of a clause that is comparable' }),
    provenance: Type.Union([Provenance, Type.Null()], {
      description: 'Emulated if a clause is; null without clauses',
    }),
    provisional: Type.Boolean({ description: 'A clause has fewer than five repeats' }),
    notSteady: Type.Optional(
      Type.Boolean({
        description:
          'Repeats of a point were not steady; missing in older verdicts, whose `disturbed` includes it',
      }),
    ),
    disturbed: Type.Boolean({ description: 'Other work disturbed repeats of a point' }),
    reason: Type.String(),
    clauses: Type.Array(ClaimClause),
  },
  closed,
);
export type ClaimResult = Static<typeof ClaimResult>;
