/** Curves that a document prints as a table, for the chart of a run that repeats them. */
import type { DocumentTable, ParamValue } from '@shardlab/contract';
import { rowsByName } from './document-tables.ts';
import type { Metric } from './point-metrics.ts';
import { type Planned, plannedNumbers, plannedSweep } from './run-plan.ts';
import type { SweepAxis } from './sweep-axis.ts';

export interface DocumentCurve {
  id: string;
  label: string;
  /** The system to which it is compared. */
  system: string;
  /** Points in order of `x`, within the run's plan; values in the unit of the metric, above zero. */
  points: { x: number; value: number }[];
}

/**
 * The curves of the metric over the axis. None of a table whose parameters the run does not plan, or of which fewer than two
 * points are within its axis: the axis is that of the run.
 */
export function documentCurves(
  run: Planned,
  tables: readonly DocumentTable[],
  { axis, metric }: { axis: Pick<SweepAxis, 'id'>; metric: Pick<Metric, 'id'> },
): DocumentCurve[] {
  const xs = plannedNumbers(run, axis.id);
  const [from, to] = [Math.min(...xs), Math.max(...xs)];
  return tables.flatMap((table) => {
    const { curves, columns, id, source } = table;
    const isOfRun =
      curves !== undefined &&
      curves.program === run.scenario.program &&
      curves.over === axis.id &&
      columns.some(({ name }) => name === metric.id) &&
      Object.entries(curves.params).every(([name, value]) => isPlanned(run, name, value));
    if (!isOfRun) return [];
    const points = rowsByName(table)
      .map((row) => ({ x: Number(row[axis.id]), value: Number(row[metric.id]) }))
      .filter(({ x, value }) => x >= from && x <= to && value > 0)
      .sort((a, b) => a.x - b.x);
    return points.length < 2 ? [] : [{ id, label: `The document, ${source}`, system: curves.system, points }];
  });
}

const isPlanned = (run: Planned, name: string, value: ParamValue): boolean =>
  (plannedSweep(run)[name] ?? [run.scenario.parameters[name]]).includes(value);
