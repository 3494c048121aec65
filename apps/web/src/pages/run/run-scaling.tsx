import { distributionOf, type ProgramInfo, type Run, type Tick } from '@shardlab/contract';
import { useCallback, useMemo, useRef, useState } from 'react';
import { createScalingChart, type ScalingChartEvents } from '../../charts/scaling-chart.ts';
import { formatMs, formatValue } from '../../model/format.ts';
import { lineLabelHint, lineLabelsFromPx } from '../../model/line-labels.ts';
import { chosenMetric, type Metric, metricsOf } from '../../model/point-metrics.ts';
import {
  type CursorKey,
  cursorKeys,
  describeSeries,
  findPoint,
  moveCursor,
  type RunPoint,
  type ScalingSeries,
} from '../../model/scaling-series.ts';
import { scalingView } from '../../model/scaling-view.ts';
import type { SweepAxis } from '../../model/sweep-axis.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { scalingTable } from '../../parts/run-figure.tsx';
import { ScalingLegend } from '../../parts/scaling-legend.tsx';
import { useChart, useWidth } from '../../parts/use-chart.ts';
import type { RunSearch } from './run-search.ts';

export interface RunScalingProps {
  run: Run;
  program: ProgramInfo;
  /** The newest tick of a run under way; null for none. */
  live: Tick | null;
  search: RunSearch;
  onSearch(change: { metric?: string; point?: string | undefined }): void;
}

const heightPx = 238;
/** Of each plot where they stand one above the other. */
const stackedPx = 280;

/** The scaling chart of a run: its axes are those of the plan, its points appear as their trials finish. */
export function RunScaling({ run, program, live, search, onSearch }: RunScalingProps) {
  const metric = useMemo(() => chosenMetric(metricsOf(program), search.metric), [program, search.metric]);
  const view = useMemo(() => scalingView(run, { program, metric, live }), [run, program, metric, live]);
  const { axis, panels, references } = view;
  const series = useMemo(() => panels.flatMap((panel) => panel.series), [panels]);
  const [cursor, setCursor] = useState<string | null>(null);
  const { box, width } = useWidth();
  const hasLineLabels = width >= lineLabelsFromPx;
  const height = hasLineLabels ? heightPx : stackedPx * panels.length;
  const events = useRef<ScalingChartEvents>({ onCursor: () => {}, onSelect: () => {} });
  events.current = {
    onCursor: setCursor,
    onSelect: (point) => onSearch({ point: point === search.point ? undefined : point }),
  };
  const create = useCallback(
    (svg: SVGSVGElement) =>
      createScalingChart(svg, {
        onCursor: (key) => events.current.onCursor(key),
        onSelect: (key) => events.current.onSelect(key),
      }),
    [],
  );
  const selected = search.point ?? null;
  const data = useMemo(
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
  );
  const { element } = useChart(create, data);
  const keys = series.flatMap((entry) => entry.points.map((point) => point.key));
  const found = findPoint(series, cursor) ?? findPoint(series, selected);
  const onKey = (key: string): boolean => {
    if ((key === 'Enter' || key === ' ') && cursor !== null) events.current.onSelect(cursor);
    else if (key === 'Escape') setCursor(null);
    else if (cursorKeys.includes(key)) setCursor(moveCursor(series, cursor, key as CursorKey));
    else return false;
    return true;
  };
  const hint = hasLineLabels ? lineLabelHint(series) : '';
  return (
    <ChartFrame
      title={`${metric.title} over ${axis.over}`}
      unit={[
        `${metric.unit}, logarithmic`,
        ...(references.length > 0 ? ['wide pale lines: the document'] : []),
        ...(hint === '' ? [] : [hint]),
      ].join('; ')}
      fileName={`${run.scenario.id}-${metric.id}`}
      table={() => scalingTable(series, `${metric.label} (${metric.unit})`, view)}
      svg={element}
      box={box}
      height={height}
      controls={
        <label className="chart-choice small">
          <span className="muted">Show</span>
          <select
            className="input"
            value={metric.id}
            onChange={(event) => onSearch({ metric: event.target.value })}
          >
            {metricsOf(program).map(({ id, label }) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        </label>
      }
      legend={
        hasLineLabels ? undefined : <ScalingLegend series={series} references={references.length > 0} />
      }
      readout={
        found === null ? <Hint points={keys.length} /> : <Readout metric={metric} axis={axis} {...found} />
      }
      spoken={found === null ? 'no point selected' : spokenOf(metric, axis, found)}
      cursor={{ now: Math.max(0, keys.indexOf(cursor ?? '')), max: Math.max(1, keys.length - 1), onKey }}
    />
  );
}

function Hint({ points }: { points: number }) {
  return points === 0
    ? 'The axes are those of the plan. Points appear as their trials finish.'
    : 'Point at a mark or use the arrow keys. Enter shows the sessions at that point.';
}

interface Found {
  series: ScalingSeries;
  point: RunPoint;
}

function Readout({ metric, axis, series, point }: Found & { metric: Metric; axis: SweepAxis }) {
  const latency = distributionOf(point.point, 'latency');
  return (
    <>
      <b>{metric.format(point.value)}</b>
      {point.range === undefined ? '' : ` (${formatValue(point.range[0])} to ${formatValue(point.range[1])})`}{' '}
      {describeSeries(series)}, {axis.describe(point.x)}; latency p50 {formatMs(latency.p50)}, p99{' '}
      {formatMs(latency.p99)}
    </>
  );
}

const spokenOf = (metric: Metric, axis: SweepAxis, found: Found): string =>
  `${describeSeries(found.series)}, ${axis.describe(found.point.x)}: ${metric.format(found.point.value)}`;
