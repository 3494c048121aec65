/**
 * The one comparison that a headline makes: both queues at the same point of the same run, so with the same workload. Which
 * run and which point is a rule, never the one with the most impressive ratio.
 */
import {
  comparableParameters,
  figureOf,
  type Point,
  parametersKey,
  type Run,
  type RunSummary,
  type Scale,
} from '@shardlab/contract';
import { repeatsMin, welchRatioInterval } from '@shardlab/model';
import { plural } from './format.ts';

export interface Evidence {
  sharded: Point;
  unsharded: Point;
  /** The unsharded queue with one writer for all sessions, at the same point; null if it was not measured. */
  grouped: Point | null;
  /** Dequeues per second, sharded ÷ unsharded. */
  ratio: number;
  /** 95 % interval of the ratio; null with fewer than five repeats. */
  interval: [low: number, high: number] | null;
  /** The fewest repeats of the two points. */
  repeats: number;
}

const metric = 'dequeuePerSec';

/** Stands wherever the ratio is shown: group commit is part of it. */
export const unshardedCommits = 'each session commits for itself';

/** The comparison at `comparableParameters`; null if there are none. */
export function comparableEvidence(points: readonly Point[]): Evidence | null {
  const key = comparableParameters(points);
  if (key === null) return null;
  const at = points.filter((point) => parametersKey(point) === key);
  const ofSystem = (system: string) => at.find((point) => point.system === system);
  const pair = { sharded: ofSystem('sharded')!, unsharded: ofSystem('unsharded')! };
  const grouped = ofSystem('unsharded-grouped');
  const isMeasured = grouped !== undefined && figureOf(grouped, metric) > 0;
  return { ...pair, grouped: isMeasured ? grouped : null, ...ratioOf(pair) };
}

function ratioOf({ sharded, unsharded }: Pick<Evidence, 'sharded' | 'unsharded'>) {
  const repeatsOf = ({ figures }: Point) => figures[metric]?.repeats ?? [];
  const [over, under] = [repeatsOf(sharded), repeatsOf(unsharded)];
  return {
    ratio: figureOf(sharded, metric) / figureOf(unsharded, metric),
    interval: welchRatioInterval(over, under),
    repeats: Math.min(over.length, under.length),
  };
}

/** How well a run can be trusted, in short sentences. */
export interface Trust {
  /** What else may explain the figures: other work on the machine, or unsteady repeats; null if neither. */
  doubt: 'Measured on a busy machine' | 'Not all rates were steady' | null;
  repeats: string;
  load: string;
  noise: string;
}

/** Load of other processes before the run, as a share of the cores, from which it is called busy. */
const busyShare = 0.5;

/** `repeats`: of the points that are spoken of. */
export function trustOf(run: Pick<Run, 'environment' | 'points' | 'watched'>, repeats: number): Trust {
  const { environment, points } = run;
  const count = (read: (point: Point) => number | undefined) =>
    points.filter((point) => (read(point) ?? 0) > 0).length;
  const disturbed = count(({ conditions }) => conditions?.disturbed);
  const unsteady = count(({ conditions }) => conditions?.notSteady);
  // The load of the last minute may be that of the run before: it counts only where other processes were not watched themselves.
  const isWatched = points.length > 0 && points.every(({ conditions }) => conditions !== undefined);
  const wasBusy =
    !isWatched && environment !== null && environment.loadAverage > busyShare * environment.cores;
  return {
    doubt:
      disturbed > 0 || wasBusy
        ? 'Measured on a busy machine'
        : unsteady > 0
          ? 'Not all rates were steady'
          : null,
    repeats:
      repeats >= repeatsMin
        ? `${repeats} repeats`
        : `${repeats === 1 ? '1 repeat' : `${repeats} repeats`}, too few for an interval: provisional`,
    load:
      environment === null
        ? 'load before the run unknown'
        : `load ${environment.loadAverage} before the run, on ${environment.cores} cores`,
    noise:
      points.length === 0
        ? 'no points'
        : disturbed + unsteady === 0
          ? `${points.length === 1 ? 'its one point' : `all ${points.length} points`} steady and undisturbed`
          : noiseInWords({ points: points.length, disturbed, unsteady }),
  };
}

function noiseInWords(counts: Record<'points' | 'disturbed' | 'unsteady', number>): string {
  const of = ` of ${plural(counts.points, 'point')}`;
  const unsteady = `${counts.unsteady}${counts.disturbed === 0 ? of : ''} ${counts.unsteady === 1 ? 'was' : 'were'} not steady`;
  if (counts.disturbed === 0) return unsteady;
  const disturbed = `other work disturbed ${counts.disturbed}${of}`;
  return counts.unsteady === 0 ? disturbed : `${disturbed}, and ${unsteady}`;
}

/**
 * The run that a headline is about: done, measured on this machine, full scale before quick, then the newest. Null if there is
 * none.
 */
export function chosenRun<Summary extends Pick<RunSummary, 'status' | 'scale' | 'createdAtMs' | 'imported'>>(
  runs: readonly Summary[],
): Summary | null {
  const rank: Readonly<Record<Scale, number>> = { full: 0, quick: 1 };
  const [best] = runs
    .filter(({ status, imported }) => status === 'done' && !imported)
    .sort((a, b) => rank[a.scale] - rank[b.scale] || b.createdAtMs - a.createdAtMs);
  return best ?? null;
}
