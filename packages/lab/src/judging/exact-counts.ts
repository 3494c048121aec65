/** Statements about exact values: a single repeat that is off refutes them. */
import { type ClaimClause, type FigureInfo, figureOf, type Point } from '@shardlab/contract';
import { clauseOf, failed } from './clause.ts';
import { figureSample, provenanceOfPoints } from './point-samples.ts';
import { combined, sampleOf } from './sample.ts';

/** A count, or the least and the most that it may be. */
export type Expected = number | readonly [least: number, most: number];

export interface ExactCounts {
  statement: string;
  /** Expected counts by the name of the figure. */
  expected: Readonly<Record<string, Expected>>;
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
        names.reduce((sum, name) => sum + off(point.figures[name]?.repeats[repeat], expected[name]!), 0),
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

export interface ExactFigure {
  condition: string;
  name: string;
  value: number;
  statement: string;
  unit: string;
  /** Further measurements, as sentences. */
  numbers?: string;
}

/** Clauses about a figure that must have this value in every repeat, within half a unit. */
export function exactFigure(point: Point, { name, value, ...facts }: ExactFigure): ClaimClause[] {
  const sample = figureSample(point, name);
  const clause = clauseOf({
    ...facts,
    sample,
    over: value - halfUnit,
    under: value + halfUnit,
    noise: halfUnit / 2,
    provenance: provenanceOfPoints([point]),
  });
  const others = sample.repeats.filter((each) => Math.abs(each - value) >= halfUnit);
  return others.length === 0 ? [clause] : [clause, failed(clause, `a repeat had ${others[0]}`)];
}

const halfUnit = 0.5;

/** "Round trips 9" */
function countInWords(point: Point, name: string, figures: readonly FigureInfo[]): string {
  const label = figures.find((info) => info.name === name)?.label ?? name;
  return `${label} ${figureOf(point, name)}`;
}

/** The number of repeats of the figure that has the most: a missing value decides nothing. */
const repeatsOf = ({ figures }: Point, names: readonly string[]) =>
  Math.max(0, ...names.map((name) => figures[name]?.repeats.length ?? 0));

/** How far a count is from what is expected; NaN if it is missing. */
function off(count: number | undefined, expected: Expected): number {
  if (count === undefined) return Number.NaN;
  const [least, most] = typeof expected === 'number' ? [expected, expected] : expected;
  return Math.max(0, least - count, count - most);
}
