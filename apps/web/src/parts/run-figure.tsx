import type { ProgramInfo, Run } from '@shardlab/contract';
import { useMemo } from 'react';
import type { DataTable } from '../model/data-table.ts';
import { chosenMetric, metricsOf } from '../model/point-metrics.ts';
import { describeSeries, type RunPoint, type ScalingSeries } from '../model/scaling-series.ts';
import { type RunScalingView, scalingView } from '../model/scaling-view.ts';
import { ChartFrame } from './chart-frame.tsx';
import { ScalingLegend } from './scaling-legend.tsx';
import { useScalingChart } from './use-scaling-chart.ts';

export interface RunFigureProps {
  /** The points may be none: then the plan and the document's lines are shown. */
  run: Pick<Run, 'scenario' | 'scale' | 'points'>;
  program: ProgramInfo;
  title: string;
  /** Key of a point to mark. */
  selected: string | null;
  /** Of the plots, CSS pixels. */
  height: number;
}

/** The scaling chart of a run for a page about something else: one metric, no controls. */
export function RunFigure({ run, program, title, selected, height }: RunFigureProps) {
  const metric = useMemo(() => chosenMetric(metricsOf(program), undefined), [program]);
  const view = useMemo(() => scalingView(run, { program, metric, live: null }), [run, program, metric]);
  const { box, element, series, hasLineLabels, hint, found, slider } = useScalingChart(view, {
    metric,
    selected,
    height: () => height,
  });
  const atPoint =
    found === null
      ? null
      : `${metric.format(found.point.value)} ${describeSeries(found.series)}, ${view.axis.describe(found.point.x)}`;
  return (
    <ChartFrame
      title={title}
      unit={[metric.unit, 'wide pale lines: the document', ...(hint === '' ? [] : [hint])].join('; ')}
      fileName={`${run.scenario.id}-${metric.id}`}
      table={() => scalingTable(series, metric.label, view)}
      svg={element}
      box={box}
      height={height}
      legend={
        hasLineLabels ? undefined : <ScalingLegend series={series} references={view.references.length > 0} />
      }
      readout={
        atPoint ??
        (series.length === 0
          ? 'No points yet: the axes are those of the plan.'
          : 'Point at a mark or use the arrow keys.')
      }
      spoken={atPoint ?? 'no point selected'}
      cursor={slider}
    />
  );
}

/** A row for each point. */
export function scalingTable(
  series: readonly ScalingSeries<RunPoint>[],
  valueName: string,
  { axis }: Pick<RunScalingView, 'axis'>,
): DataTable {
  const hasOtherParams = series.some((entry) => entry.otherParams.length > 0);
  return {
    columns: [
      'System',
      'Instances',
      'Round trip ms',
      ...(hasOtherParams ? ['Other parameters'] : []),
      axis.id === 'threads' ? 'Threads' : axis.title,
      valueName,
      'From',
      'To',
    ],
    rows: series.flatMap((entry) =>
      entry.points.map((point) => [
        entry.system,
        entry.instances,
        entry.roundTripMs,
        ...(hasOtherParams ? [entry.otherParams.join(', ')] : []),
        point.x,
        point.value,
        point.range?.[0] ?? null,
        point.range?.[1] ?? null,
      ]),
    ),
  };
}
