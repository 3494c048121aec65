/** Compares runs: first how their configurations differ, then their figures, point by point, with intervals. */
import { type Params, type Point, type ProgramInfo, paramInWords, type Run } from '@shardlab/contract';
import { type Interval, median, welchRatioInterval } from '@shardlab/model';
import { runProvenance } from './provenance.ts';
import { settingsOf } from './run-settings.ts';
import { systemInWords } from './system-words.ts';

export interface ConfigDifference {
  name: string;
  /** One for each run, in their order; null where a run does not have it. */
  values: (string | null)[];
}

/** Settings of scenario and machine in which the runs differ, by name. `program`: of all of them; undefined if it is not known. */
export function configDifferences(
  runs: readonly Run[],
  program: Pick<ProgramInfo, 'parameters'> | undefined,
): ConfigDifference[] {
  const settings = runs.map((run) => settingsOf(run, program));
  const names = [...new Set(settings.flatMap((each) => [...each.keys()]))];
  return names
    .map((name) => ({ name, values: settings.map((each) => each.get(name) ?? null) }))
    .filter(({ values }) => new Set(values).size > 1);
}

/** One run's figure as a multiple of the baseline's. */
export interface RunRatio {
  ratio: number;
  /** 95 % interval; null with fewer than five repeats of either. */
  interval: Interval | null;
  /** The least and the greatest quotient of single repeats. */
  range: Interval;
}

export interface ComparedPoint {
  key: string;
  /** "sharded, 2 instances, 16 threads" */
  words: string;
  /** One for each run; undefined where a run lacks the point. */
  points: (Point | undefined)[];
  /** Null for the baseline, and where either lacks the figure. */
  ratios: (RunRatio | null)[];
}

/**
 * Points that two or more of the runs have, in the order of the first run. Points match if their systems and parameters do,
 * ignoring parameters that are constant within each run: those are the difference under examination.
 */
export function comparedPoints(
  runs: readonly Run[],
  figure: string,
  program: Pick<ProgramInfo, 'parameters'>,
): ComparedPoint[] {
  const ignored = constantDifferences(runs.map(({ points }) => points.map(({ params }) => params)));
  const keyOf = ({ system, params }: Point) =>
    JSON.stringify([
      system,
      ...namesOf(params)
        .filter((name) => !ignored.has(name))
        .map((name) => [name, params[name]]),
    ]);
  const byRun = runs.map(({ points }) => new Map(points.map((point) => [keyOf(point), point])));
  const keys = [...new Set(byRun.flatMap((points) => [...points.keys()]))];
  const varied = program.parameters.filter(
    ({ name }) =>
      !ignored.has(name) &&
      new Set(runs.flatMap(({ points }) => points.map(({ params }) => params[name]))).size > 1,
  );
  return keys.flatMap((key) => {
    const points = byRun.map((each) => each.get(key));
    const present = points.filter((point) => point !== undefined);
    if (present.length < 2) return [];
    const [first] = present;
    const words = [
      systemInWords(first!.system),
      ...varied.flatMap((parameter) => {
        const value = first!.params[parameter.name];
        return value === undefined ? [] : [paramInWords(parameter, value)];
      }),
    ].join(', ');
    const baseline = points[0];
    const ratios = points.map((point, index) =>
      index === 0 || point === undefined || baseline === undefined
        ? null
        : ratioOf(point.figures[figure]?.repeats, baseline.figures[figure]?.repeats),
    );
    return [{ key, words, points, ratios }];
  });
}

const namesOf = (params: Params): string[] => Object.keys(params).sort();

/** Parameters with one value in each run that is not the same in all. */
function constantDifferences(byRun: readonly (readonly Params[])[]): Set<string> {
  const names = new Set(byRun.flat().flatMap(namesOf));
  return new Set(
    [...names].filter((name) => {
      const values = byRun.map((all) => new Set(all.map((params) => params[name])));
      return values.every(({ size }) => size <= 1) && new Set(values.map((each) => [...each][0])).size > 1;
    }),
  );
}

function ratioOf(over: readonly number[] | undefined, under: readonly number[] | undefined): RunRatio | null {
  if (over === undefined || under === undefined) return null;
  const ratio = median(over) / median(under);
  if (!Number.isFinite(ratio) || ratio <= 0) return null;
  return {
    ratio,
    interval: welchRatioInterval(over, under),
    range: [Math.min(...over) / Math.max(...under), Math.max(...over) / Math.min(...under)],
  };
}

/** Whether an interval shows that the figure changed; null without one. */
export const isClear = ({ interval }: RunRatio): boolean | null =>
  interval === null ? null : interval[0] > 1 || interval[1] < 1;

/** "1.05 × the baseline at the middle of 18 points; clearly higher at 12, lower at 2"; without intervals why there are none. */
export function comparisonInWords(rows: readonly ComparedPoint[], index: number): string {
  const ratios = rows.flatMap(({ ratios: all }) => all[index] ?? []);
  if (ratios.length === 0) return 'no points in common with the baseline';
  const middle = median(ratios.map(({ ratio }) => ratio));
  const judged = ratios.filter((each) => each.interval !== null);
  if (judged.length === 0)
    return `${middle.toFixed(2)} × the baseline at the middle of ${ratios.length} points; fewer than five repeats, so no interval`;
  const higher = judged.filter((each) => isClear(each) && each.ratio > 1).length;
  const lower = judged.filter((each) => isClear(each) && each.ratio < 1).length;
  return `${middle.toFixed(2)} × the baseline at the middle of ${ratios.length} points; clearly higher at ${higher}, lower at ${lower}`;
}

/** The provenance of figures of several runs. */
export const runsProvenance = (runs: readonly Run[]): string =>
  runs.map((run, index) => `${runLetter(index)}: ${runProvenance(run)}`).join(' ');

/** The letter by which pages name a run: A is the baseline. */
export const runLetter = (index: number): string => String.fromCharCode(65 + index);
