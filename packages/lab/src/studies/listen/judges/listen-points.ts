/** The points of the study's two programs, and what judges read of them. */
import { figureOf, numberParam, type Point } from '@shardlab/contract';
import type { CaseName } from '../../../programs/listen/cases.ts';
import type { ListenParams } from '../../../programs/listen/listen-params.ts';

export const pairsOf = ({ params }: Point): number => numberParam(params, 'pairs');
export const copiesOf = ({ params }: Point): number => numberParam(params, 'copies');
export const methodOf = ({ params }: Point) => params.method as ListenParams['method'];

/** The sum over repeats where each has it; an empty sample if the point has no such figure. */
export const hasFigure = ({ figures }: Point, name: string): boolean =>
  (figures[name]?.repeats.length ?? 0) > 0;

const listens = (point: Point) => point.program === 'listen';

/** Lines of points that differ in their pairs only: listening, one copy. From the fewest pairs. */
export function listenLines(points: readonly Point[]): Point[][] {
  const all = points.filter(
    (point) => listens(point) && methodOf(point) === 'listen' && copiesOf(point) === 1,
  );
  return linesBy(all, 'pairs')
    .map((line) => line.toSorted((a, b) => pairsOf(a) - pairsOf(b)))
    .filter((line) => line.length > 1);
}

/** Points of the program that are equal in all parameters but one. */
export function linesBy(points: readonly Point[], axis: keyof ListenParams): Point[][] {
  const all = points.filter(listens);
  return [...Map.groupBy(all, ({ params }) => JSON.stringify({ ...params, [axis]: undefined })).values()];
}

/** "durable, 100 subscribers": what tells a line from others. */
export const conditionOf = ({ params }: Point): string =>
  `${params.durability}, ${params.payloadBytes} bytes, ${params.subscribers} subscribers`;

export const casePoints = (points: readonly Point[], name: CaseName): Point[] =>
  points.filter(({ program, params }) => program === 'listen-cases' && params.case === name);

/** Whether the process keeps all cores busy: then its threads wait for cores as well as for each other. */
export const fillsCores = (point: Point, cores: number | null): boolean =>
  cores !== null && figureOf(point, 'cpuCores') > 0.9 * cores;
