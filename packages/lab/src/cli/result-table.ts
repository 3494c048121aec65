/** Points as a plain-text table, and verdicts as paragraphs. */
import {
  type ClaimClause,
  type ClaimResult,
  type Environment,
  type FigureInfo,
  figureOf,
  type Params,
  type ParamValue,
  type Point,
} from '@shardlab/contract';
import type { Program } from '../programs/program.ts';

const number = (value: number, digits = 0) =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** Integers from 100 on, otherwise three significant digits, so that small shares do not become 0. */
export const figureInWords = (value: number) =>
  Math.abs(value) >= 100 ? number(value) : String(Number(value.toPrecision(3)));

interface Column {
  title: string;
  cell: (point: Point) => string;
  left?: boolean;
}

/**
 * One line per point, sorted so that the points of a curve are adjacent: the system, each parameter in which the points differ,
 * and the program's figures. If most points lack most figures: a block per point with a line for each of its figures.
 */
export function resultTable(
  points: readonly Point[],
  { parameters, figures }: Pick<Program, 'parameters' | 'figures'>,
): string {
  const { varied, sorted } = variedAndSorted(points, { parameters });
  const shown: Column[] = [
    { title: 'system', cell: ({ system }) => system, left: true },
    ...varied.map(({ name }): Column => ({ title: name, cell: ({ params }) => paramCell(params[name]) })),
    ...figures
      .filter(({ name }) => points.some((point) => name in point.figures))
      .map(
        (figure): Column => ({
          title: `${figure.label}${unitOf[figure.format]}`,
          cell: (point) =>
            figure.name in point.figures
              ? figureInWords(figureOf(point, figure.name))
              : missingInWords(point, figure),
        }),
      ),
    { title: 'top wait event', cell: topWait, left: true },
    { title: 'repeats', cell: conditionsInWords, left: true },
    { title: 'integrity', cell: integrityInWords, left: true },
  ];
  const cells = sorted.map((point) => shown.map(({ cell }) => cell(point)));
  if (isSparse(points)) return cells.map((row) => blockOf(row, shown, 1 + varied.length)).join('\n\n');
  const rows = [shown.map(({ title }) => title), ...cells];
  const widths = shown.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          shown[column]!.left ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Whether most points lack most of the figures that any of them has. */
function isSparse(points: readonly Point[]): boolean {
  const present = points.map(({ figures }) => Object.keys(figures));
  return present.flat().length < (new Set(present.flat()).size * points.length) / 2;
}

/** A point as lines: the first names it by as many columns, the others have a figure each. */
function blockOf(row: readonly string[], columns: readonly Column[], namedBy: number): string {
  const title = row
    .slice(0, namedBy)
    .filter((cell) => cell !== '')
    .join(', ');
  const lines = row.slice(namedBy).flatMap((cell, index) => {
    return cell === '' ? [] : [`  ${columns[namedBy + index]!.title}: ${cell}`];
  });
  return [title, ...lines].join('\n');
}

/** The parameters in which points differ, and the points sorted by system and by those. */
export function variedAndSorted(points: readonly Point[], { parameters }: Pick<Program, 'parameters'>) {
  const varied = parameters.filter(({ name }) => new Set(points.map(({ params }) => params[name])).size > 1);
  const order = varied.map(({ name }) => name);
  const sorted = points.toSorted(
    (a, b) => a.system.localeCompare(b.system) || firstDifference(a.params, b.params, order),
  );
  return { varied, sorted };
}

export const unitOf: Readonly<Record<FigureInfo['format'], string>> = {
  rate: ' /s',
  nanoseconds: ' ns',
  microseconds: ' µs',
  milliseconds: ' ms',
  cores: '',
  count: '',
  ratio: '',
};

export const paramCell = (value: ParamValue | undefined) =>
  typeof value === 'number' ? number(value, value % 1 === 0 ? 0 : 1) : (value ?? '');

function firstDifference(a: Params, b: Params, names: readonly string[]): number {
  for (const name of names) {
    const [left, right] = [a[name] ?? '', b[name] ?? ''];
    const difference =
      typeof left === 'number' && typeof right === 'number'
        ? left - right
        : String(left).localeCompare(String(right));
    if (difference !== 0) return difference;
  }
  return 0;
}

function topWait({ waits }: Point): string {
  return waits.find((wait) => wait.class !== 'idle' && !wait.emulated)?.event ?? '';
}

/** A figure that means nothing at a point whose repeats are not steady is left out of it. */
const missingInWords = ({ conditions, repeats }: Point, { ifSteady }: FigureInfo) =>
  ifSteady && conditions?.notSteady === repeats.length ? 'not steady' : '';

/** Which repeats do not count, and how often one was measured again. */
export function conditionsInWords({ conditions, repeats }: Point): string {
  if (conditions === undefined) return '';
  const { notSteady, disturbed, measuredAgain, contradictions = [] } = conditions;
  const of = repeats.length > 1 ? ` of ${repeats.length}` : '';
  const parts = [
    notSteady > 0 ? `${repeats.length > 1 ? `${notSteady}${of} ` : ''}not steady` : '',
    disturbed > 0 ? `${repeats.length > 1 ? `${disturbed}${of} ` : ''}disturbed` : '',
    contradictions.length > 0 ? `CONTRADICTION: ${contradictions[0]!}` : '',
    measuredAgain > 0 ? `${measuredAgain} measured again` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'ok' : parts.join(', ');
}

export function integrityInWords({ integrity, killed }: Pick<Point, 'integrity' | 'killed'>): string {
  const faults = [
    [integrity.lost, 'LOST'],
    [integrity.duplicated, 'DUPLICATED'],
    [integrity.damaged, 'DAMAGED'],
    [integrity.outOfOrder, 'OUT OF ORDER'],
    [integrity.left, 'left'],
  ] as const;
  const present = faults.filter(([count]) => count > 0).map(([count, word]) => `${number(count)} ${word}`);
  const durability = integrity.durability === undefined ? '' : `, durability ${integrity.durability}`;
  const lost =
    integrity.durability === 'not promised' && killed !== undefined
      ? ` (a kill lost ${number(killed.lost)} of ${number(killed.enqueued)})`
      : '';
  return `${present.length === 0 ? 'ok' : present.join(', ')}${durability}${lost}`;
}

/** Each claim with its verdict and reason; of several clauses a line each. */
export function verdictsInWords(claims: readonly ClaimResult[]): string {
  return claims
    .map((claim) => {
      const { id, title, reason, weak, clauses } = claim;
      const lines = [
        `${id} ${verdictInWords(claim)}${valueInWords(claim)}`,
        `   ${title}. ${reason}`,
        ...(clauses.length > 1 ? clauses.map(clauseInWords) : []),
        ...(weak === null ? [] : [`   Weak: ${weak}`]),
      ];
      return lines.join('\n');
    })
    .join('\n');
}

function clauseInWords(clause: ClaimClause): string {
  const { condition, statement, provenance } = clause;
  const origin = provenance === 'measured' ? '' : `, ${provenance}`;
  const where = condition === null ? '' : `${condition}: `;
  return `     - ${where}${statement}: ${verdictInWords(clause).toLowerCase()}${valueInWords(clause)}${origin}`;
}

type Told = Pick<ClaimClause, 'verdict' | 'provisional' | 'value' | 'unit' | 'interval'>;

/** "HOLDS", "DOES NOT HOLD, PROVISIONAL" */
const verdictInWords = ({ verdict, provisional }: Told) =>
  `${verdict.toUpperCase().replaceAll('-', ' ')}${provisional ? ', PROVISIONAL' : ''}`;

function valueInWords({ value, unit, interval }: Told): string {
  if (value === null) return '';
  const range = interval === null ? '' : ` (${figureInWords(interval[0])} to ${figureInWords(interval[1])})`;
  return `: ${figureInWords(value)} ${unit}${range}`;
}

export function environmentInWords(environment: Environment): string {
  const { cores, cpuModel, memoryGiB, fileSystem, syncMs, node, sqlite, loadAverage } = environment;
  return `${cores} × ${cpuModel}, ${memoryGiB} GiB, ${fileSystem} (sync ${syncMs.p50} ms, p99 ${syncMs.p99} ms), Node ${node}, SQLite ${sqlite}, load ${loadAverage}`;
}
