/**
 * The one comparison that a headline makes: both queues at the same point of the same run, so with the same workload. Which
 * run and which point is a rule, never the one with the most impressive ratio.
 */
import {
  figureOf,
  numberParam,
  type Point,
  pointKey,
  type Run,
  type RunSummary,
  type Scale,
} from '@shardlab/contract';
import { repeatsMin, welchRatioInterval } from '@shardlab/model';

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

/** The key that points of different systems share if all their parameters are equal. */
export const parametersKey = (point: Pick<Point, 'program' | 'params'>): string =>
  pointKey({ program: point.program, system: '', params: point.params });

/**
 * The most loaded point at which both systems were measured: the shortest round trip, then the most instances, then the
 * most threads. Null if there is none, or if one of the two dequeued nothing there.
 */
export function comparableEvidence(points: readonly Point[]): Evidence | null {
  const measured = points.filter((point) => figureOf(point, metric) > 0);
  const ofSystem = (system: string) =>
    new Map(
      measured.filter((point) => point.system === system).map((point) => [parametersKey(point), point]),
    );
  const [sharded, unsharded, grouped] = ['sharded', 'unsharded', 'unsharded-grouped'].map(ofSystem) as [
    Map<string, Point>,
    Map<string, Point>,
    Map<string, Point>,
  ];
  const [key] = [...sharded.keys()]
    .filter((each) => unsharded.has(each))
    .sort((a, b) => byLoad(sharded.get(a)!, sharded.get(b)!));
  if (key === undefined) return null;
  const pair = { sharded: sharded.get(key)!, unsharded: unsharded.get(key)! };
  return { ...pair, grouped: grouped.get(key) ?? null, ...ratioOf(pair) };
}

function byLoad(a: Point, b: Point): number {
  const number = (name: string) => numberParam(a.params, name) - numberParam(b.params, name);
  return number('roundTripMs') || -number('instances') || -number('threads');
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
  /** Other work or unsteady repeats may explain what the figures show. */
  isNoisy: boolean;
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
  const wasBusy = environment !== null && environment.loadAverage > busyShare * environment.cores;
  const parts = [
    ...(disturbed > 0 ? [`other work disturbed ${disturbed}`] : []),
    ...(unsteady > 0 ? [`${unsteady} ${unsteady === 1 ? 'was' : 'were'} not steady`] : []),
  ];
  return {
    isNoisy: parts.length > 0 || wasBusy,
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
        : parts.length === 0
          ? `all ${points.length} points steady and undisturbed`
          : `of ${points.length} points ${parts.join(' and ')}`,
  };
}

/**
 * The run that a headline speaks of: done, measured on this machine, full scale before quick, then the newest. Null if there
 * is none.
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
