/**
 * A run without a parameter that an axis could show, such as one over kinds of faults: a row for each planned combination, named
 * by the parameters that distinguish it from the others.
 */

import {
  type Point,
  type ProgramInfo,
  paramInWords,
  pointKey,
  type Run,
  type Tick,
} from '@shardlab/contract';
import type { DataTable } from './data-table.ts';
import type { Metric } from './point-metrics.ts';
import { repeatSpan } from './repeat-span.ts';
import {
  type PlannedCombination,
  plannedCombinations,
  plannedSweep,
  plannedSystems,
  variedParameters,
} from './run-plan.ts';
import { liveMetric, rateNow } from './scaling-view.ts';
import { systemInWords } from './system-words.ts';

export interface CombinationRow {
  /** `pointKey` once it is measured; until then its name. */
  key: string;
  /** "tightly coupled, 2 instances" */
  name: string;
  system: string;
  /** Value in the unit of the metric; null if it is not measured, or the point does not have it. */
  value: number | null;
  /** Range of the repeats, see `repeatSpan`; null with one repeat. */
  range: readonly [low: number, high: number] | null;
  /** The value in words, or why there is none. */
  text: string;
}

export interface CombinationView {
  rows: CombinationRow[];
  /** Planned combinations without a row: a run that is done has none for what it did not measure. */
  leftOut: number;
  /** Values that a document states. */
  references: { label: string; value: number; system: string }[];
  /** Row and value of the trial under way; null without one. */
  live: { key: string; value: number } | null;
}

/** `live`: the newest tick of a run under way; null for none. */
export function combinationRows(
  run: Pick<Run, 'scenario' | 'scale' | 'points'> & Partial<Pick<Run, 'status'>>,
  options: { program: ProgramInfo; metric: Metric; live: Tick | null },
): CombinationView {
  const { program, metric, live } = options;
  const varied = variedParameters(plannedSweep(run), program);
  const isAt = (plan: PlannedCombination, { system, params }: Pick<Point | Tick, 'system' | 'params'>) =>
    system === plan.system && varied.every(({ name }) => params[name] === plan.params[name]);
  const combinations = plannedCombinations(run, program);
  const measured = combinations.filter((plan) => run.points.some((point) => isAt(plan, point)));
  const planned = run.status === 'done' && measured.length > 0 ? measured : combinations;
  const rows = planned.map((plan): CombinationRow => {
    const name = combinationName(run, program, plan);
    const point = run.points.find((each) => isAt(plan, each));
    const figure = point?.figures[metric.id];
    return {
      key: point === undefined ? name : pointKey(point),
      name,
      system: plan.system,
      value: figure?.value ?? null,
      range: repeatSpan(figure?.repeats ?? []),
      text: figure === undefined ? whyMissing(point, metric) : valueText(figure.value, metric),
    };
  });
  const liveIndex =
    live === null || metric.id !== liveMetric ? -1 : planned.findIndex((plan) => isAt(plan, live));
  return {
    rows,
    leftOut: combinations.length - planned.length,
    references: (run.scenario.references ?? [])
      .filter(({ figure }) => figure === metric.id)
      .map(({ label, value, system }) => ({ label, value, system })),
    live: liveIndex === -1 ? null : { key: rows[liveIndex]!.key, value: rateNow(live!) },
  };
}

/**
 * The parameters that distinguish a combination from the others of its run: "tightly coupled, 2 instances"; the system of a run
 * that has no others.
 */
export function combinationName(
  run: Pick<Run, 'scenario' | 'scale'>,
  program: Pick<ProgramInfo, 'parameters'>,
  { system, params }: PlannedCombination,
): string {
  const words = variedParameters(plannedSweep(run), program).flatMap((parameter) => {
    const value = params[parameter.name];
    return value === undefined ? [] : [paramInWords(parameter, value)];
  });
  return (
    plannedSystems(run).length > 1 || words.length === 0 ? [systemInWords(system), ...words] : words
  ).join(', ');
}

/** A bar of no length has a value too; elsewhere zero stands for nothing recorded. */
const valueText = (value: number, metric: Metric): string => (value === 0 ? '0' : metric.format(value));

function whyMissing(point: Point | undefined, { ifSteady }: Metric): string {
  if (point === undefined) return 'not measured';
  const { conditions, repeats } = point;
  return ifSteady && conditions?.notSteady === repeats.length ? 'not steady' : 'none';
}

/** "by the system, faults and kinds of state"; empty for a run of one combination. */
export function variedInWords(
  run: Pick<Run, 'scenario' | 'scale'>,
  program: Pick<ProgramInfo, 'parameters'>,
): string {
  const names = [
    ...(plannedSystems(run).length > 1 ? ['the system'] : []),
    ...variedParameters(plannedSweep(run), program).map(({ over }) => over),
  ];
  if (names.length === 0) return '';
  const last = names.at(-1)!;
  return `by ${names.length === 1 ? last : `${names.slice(0, -1).join(', ')} and ${last}`}`;
}

/** The row that follows by a key of the keyboard; null for a key that moves nothing. */
export function moveRow(rows: readonly CombinationRow[], current: string | null, key: string): string | null {
  const at = rows.findIndex((row) => row.key === current);
  const last = rows.length - 1;
  const next: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowRight: at + 1,
    ArrowUp: at === -1 ? last : at - 1,
    ArrowLeft: at === -1 ? last : at - 1,
    Home: 0,
    End: last,
  };
  const index = next[key];
  return index === undefined ? null : (rows[Math.min(last, Math.max(0, index))]?.key ?? null);
}

/** A row for each combination. */
export const combinationTable = (rows: readonly CombinationRow[], valueName: string): DataTable => ({
  columns: ['Combination', 'System', valueName, 'From', 'To'],
  rows: rows.map(({ name, system, value, range }) => [
    name,
    system,
    value,
    range?.[0] ?? null,
    range?.[1] ?? null,
  ]),
});
