import type { ProgramInfo, Run } from '@shardlab/contract';
import { useMemo } from 'react';
import { scalingLegend } from '../charts/scaling-legend.ts';
import type { DataTable } from '../model/data-table.ts';
import { chosenMetric, type Metric, metricsOf } from '../model/point-metrics.ts';
import { describeSeries, type RunPoint, type ScalingSeries } from '../model/scaling-series.ts';
import { type RunScalingView, scalingView } from '../model/scaling-view.ts';
import { ChartFrame } from './chart-frame.tsx';
import { CombinationFigure } from './combination-figure.tsx';
import { Legend } from './legend-marks.tsx';
import { useChartHint } from './use-chart-hint.ts';
import { useScalingChart } from './use-scaling-chart.ts';
import { useTables } from './use-study.ts';

export interface RunFigureProps {
  /** The points may be none: then the plan and the document's lines are shown. */
  run: Pick<Run, 'scenario' | 'scale' | 'points'>;
  program: ProgramInfo;
  title: string;
  /** Where the data come from, below a saved image. */
  provenance: string;
  /** Key of a point to mark. */
  selected: string | null;
  /** Height of the plots, CSS pixels; a figure of rows is as high as its rows. */
  height: number;
}

/** The figure of a run for a page about something else: one metric, no controls. */
export function RunFigure(props: RunFigureProps) {
  const { run, program } = props;
  const metric = useMemo(() => chosenMetric(metricsOf(program), undefined), [program]);
  const tables = useTables(run.scenario.study);
  const view = useMemo(
    () => scalingView(run, { program, metric, expectsPoints: run.points.length === 0, live: null, tables }),
    [run, program, metric, tables],
  );
  return view === null ? (
    <CombinationFigure {...props} metric={metric} live={null} />
  ) : (
    <ScalingFigure {...props} metric={metric} view={view} />
  );
}

/** How much higher the plots may be to hold the labels of their lines, CSS pixels. */
const grownPx = 80;

function ScalingFigure(props: RunFigureProps & { metric: Metric; view: RunScalingView }) {
  const { run, title, provenance, selected, metric, view } = props;
  const { box, element, height, series, styles, hasLineLabels, hint, found, slider } = useScalingChart(view, {
    metric,
    selected,
    labelled: [props.height, props.height + grownPx],
    withLegend: props.height,
  });
  const pointing = useChartHint('Point at a mark or use the arrow keys.');
  const hasReferences = view.references.length + view.curves.length > 0;
  const legend = scalingLegend(series, { styles, hasReferences, hasTripPanels: view.panels.length > 1 });
  const atPoint =
    found === null
      ? null
      : `${metric.format(found.point.value)} ${describeSeries(found.series)}, ${view.axis.describe(found.point.x)}`;
  return (
    <ChartFrame
      title={title}
      unit={[
        metric.unit,
        ...(view.variant === null ? [] : [view.variant]),
        ...(hasReferences ? ['wide pale lines: the document'] : []),
        ...(hint === '' ? [] : [hint]),
      ].join('; ')}
      fileName={`${run.scenario.id}-${metric.id}`}
      table={() => scalingTable(series, metric.label, view)}
      svg={element}
      box={box}
      height={height}
      saved={{ legend, provenance }}
      legend={hasLineLabels ? undefined : <Legend items={legend} />}
      readout={atPoint ?? (series.length === 0 ? 'No points yet: the axes are those of the plan.' : pointing)}
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
