/** Statements about exact counts: a single repeat that is off refutes them. */
import { type ClaimClause, type FigureInfo, figureOf, type Point } from '@shardlab/contract';
import { clauseOf, failed } from './clause.ts';
import { provenanceOfPoints } from './point-samples.ts';
import { combined, sampleOf } from './sample.ts';

export interface ExactCounts {
  statement: string;
  /** Expected counts by the name of the figure. */
  expected: Readonly<Record<string, number>>;
  /** Figures of the points' program, for their labels. */
  figures: readonly FigureInfo[];
}

/** Clauses over all points of one kind: those of a case, or of a method. Empty without points. */
export function exactClauses(
  points: readonly Point[],
  { statement, expected, figures }: ExactCounts,
): ClaimClause[] {
  if (points.length === 0) return [];
  const names = Object.keys(expected);
  const wrong = points.map((point) =>
    sampleOf(
      Array.from({ length: repeatsOf(point, names) }, (_, repeat) =>
        names.reduce((sum, name) => sum + off(point, { name, repeat, expected: expected[name]! }), 0),
      ),
    ),
  );
  const clause = clauseOf({
    statement,
    unit: 'counts too many or too few',
    sample: combined(wrong, (values) => values.reduce((sum, value) => sum + value, 0)),
    under: 1,
    provenance: provenanceOfPoints(points),
    numbers: `${points.map((point) => names.map((name) => countInWords(point, name, figures)).join(', ')).join('; ')}.`,
    digits: 0,
  });
  const isOff = wrong.some(({ repeats }) => repeats.some((value) => value > 0));
  return isOff ? [clause, failed(clause, `not in every repeat ${statement}`)] : [clause];
}

/** "Round trips 9" */
export function countInWords(point: Point, name: string, figures: readonly FigureInfo[]): string {
  const label = figures.find((info) => info.name === name)?.label ?? name;
  return `${label} ${figureOf(point, name)}`;
}

/** The number of repeats of the figure that has the most: a missing value decides nothing. */
const repeatsOf = ({ figures }: Point, names: readonly string[]) =>
  Math.max(0, ...names.map((name) => figures[name]?.repeats.length ?? 0));

const off = (
  { figures }: Point,
  { name, repeat, expected }: { name: string; repeat: number; expected: number },
) => Math.abs((figures[name]?.repeats[repeat] ?? Number.NaN) - expected);
