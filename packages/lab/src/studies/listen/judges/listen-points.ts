/** The points of the study's two programs, and the values that judges read from them. */
import { type ClaimClause, figureOf, numberParam, type Point } from '@shardlab/contract';
import { onLessHardware } from '../../../judging/clause.ts';
import type { JudgeContext } from '../../../judging/judgement.ts';
import { percent } from '../../../programs/figures-in-words.ts';
import type { CaseName } from '../../../programs/listen/cases.ts';
import type { ListenParams } from '../../../programs/listen/listen-params.ts';
import { listenDocument } from '../document/document-figures.ts';

export const pairsOf = ({ params }: Point): number => numberParam(params, 'pairs');
export const copiesOf = ({ params }: Point): number => numberParam(params, 'copies');
export const methodOf = ({ params }: Point) => params.method as ListenParams['method'];

/** Whether the figure was measured in at least one repeat. */
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

/** The condition that distinguishes a line from others: "durable, 100 subscribers". */
export const conditionOf = ({ params }: Point): string =>
  `${params.durability}, ${params.payloadBytes?.toLocaleString('en-US')} bytes, ${params.subscribers} subscribers`;

export const casePoints = (points: readonly Point[], name: CaseName): Point[] =>
  points.filter(({ program, params }) => program === 'listen-cases' && params.case === name);

/** Sessions that are ready and have no core for more than this share of their time do not contend for the mutex and the latch alone. */
const runnableShareMax = 0.1;

/**
 * Whether sessions wait for cores as well as for each other. For recordings without the kernel's times of each thread: whether
 * the process keeps all cores busy.
 */
const waitForCores = (point: Point, cores: number): boolean =>
  hasFigure(point, 'runnableShare')
    ? figureOf(point, 'runnableShare') > runnableShareMax
    : figureOf(point, 'cpuCores') > 0.9 * cores;

/**
 * A claim that is missed where sessions wait for cores is not comparable: scheduling more threads than there are cores is not what the
 * document measured.
 */
export function comparable(
  clause: ClaimClause,
  points: readonly Point[],
  { cores }: JudgeContext,
): ClaimClause {
  if (cores === null || cores >= listenDocument.peakSessions) return clause;
  const scheduled = points.filter((point) => waitForCores(point, cores));
  if (scheduled.length === 0) return clause;
  const shares = scheduled
    .filter((point) => hasFigure(point, 'runnableShare'))
    .map((point) => `${pairsOf(point)} pairs ${percent(figureOf(point, 'runnableShare'))}`);
  const words = shares.length === 0 ? '' : ` (of their time that is not idle: ${shares.join(', ')})`;
  return onLessHardware(
    clause,
    `But on ${cores} cores its sessions are ready and wait for a core too${words}.`,
  );
}
