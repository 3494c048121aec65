import type { ProgramInfo, Run } from '@shardlab/contract';
import { useCallback, useMemo, useState } from 'react';
import { createScalingChart } from '../charts/scaling-chart.ts';
import type { DataTable } from '../model/data-table.ts';
import { lineLabelHint, lineLabelsFromPx } from '../model/line-labels.ts';
import { chosenMetric, metricsOf } from '../model/point-metrics.ts';
import {
  type CursorKey,
  cursorKeys,
  describeSeries,
  findPoint,
  moveCursor,
  type RunPoint,
  type ScalingSeries,
} from '../model/scaling-series.ts';
import { type RunScalingView, scalingView } from '../model/scaling-view.ts';
import { ChartFrame } from './chart-frame.tsx';
import { ScalingLegend } from './scaling-legend.tsx';
import { useChart, useWidth } from './use-chart.ts';

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
  const series = view.panels.flatMap((panel) => panel.series);
  const [cursor, setCursor] = useState<string | null>(null);
  const { box, width } = useWidth();
  const hasLineLabels = width >= lineLabelsFromPx;
  const hint = hasLineLabels ? lineLabelHint(series) : '';
  const create = useCallback(
    (svg: SVGSVGElement) => createScalingChart(svg, { onCursor: setCursor, onSelect: setCursor }),
    [],
  );
  const { element } = useChart(
    create,
    useMemo(
      () => ({
        ...view,
        width: Math.max(width, 240),
        height,
        hasLineLabels,
        formatAxis: metric.formatAxis,
        cursor,
        selected,
      }),
      [view, width, height, hasLineLabels, metric, cursor, selected],
    ),
  );
  const found = findPoint(series, cursor) ?? findPoint(series, selected);
  const keys = series.flatMap((entry) => entry.points.map((point) => point.key));
  const text =
    found === null
      ? ''
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
      readout={text === '' ? 'No points yet: the axes are those of the plan.' : text}
      spoken={text === '' ? 'no point selected' : text}
      cursor={{
        now: Math.max(0, keys.indexOf(cursor ?? '')),
        max: Math.max(1, keys.length - 1),
        onKey: (key) => {
          if (key === 'Escape') setCursor(null);
          else if (cursorKeys.includes(key)) setCursor(moveCursor(series, cursor, key as CursorKey));
          else return false;
          return true;
        },
      }}
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
