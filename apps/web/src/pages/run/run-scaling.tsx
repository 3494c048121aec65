import { distributionOf, type ProgramInfo, type Run, type Tick } from '@shardlab/contract';
import { useMemo } from 'react';
import { formatMs, formatValue } from '../../model/format.ts';
import { chosenMetric, type Metric, metricsOf } from '../../model/point-metrics.ts';
import { describeSeries, type RunPoint, type ScalingSeries } from '../../model/scaling-series.ts';
import { scalingView } from '../../model/scaling-view.ts';
import type { SweepAxis } from '../../model/sweep-axis.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { scalingTable } from '../../parts/run-figure.tsx';
import { ScalingLegend } from '../../parts/scaling-legend.tsx';
import { useScalingChart } from '../../parts/use-scaling-chart.ts';
import type { RunSearch } from './run-search.ts';

export interface RunScalingProps {
  run: Run;
  program: ProgramInfo;
  /** The newest tick of a run under way; null for none. */
  live: Tick | null;
  search: RunSearch;
  onSearch(change: { metric?: string; point?: string | undefined }): void;
}

const heightPx = 230;
/** Of each plot where they stand one above the other. */
const stackedPx = 280;

/** The scaling chart of a run: its axes are those of the plan, its points appear as their trials finish. */
export function RunScaling({ run, program, live, search, onSearch }: RunScalingProps) {
  const metric = useMemo(() => chosenMetric(metricsOf(program), search.metric), [program, search.metric]);
  const view = useMemo(() => scalingView(run, { program, metric, live }), [run, program, metric, live]);
  const { axis, panels, references } = view;
  const { box, element, height, series, hasLineLabels, hint, found, slider } = useScalingChart(view, {
    metric,
    selected: search.point ?? null,
    height: (withLabels) => (withLabels ? heightPx : stackedPx * panels.length),
    onSelect: (point) => onSearch({ point: point === search.point ? undefined : point }),
  });
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
        found === null ? (
          <Hint hasPoints={series.length > 0} />
        ) : (
          <Readout metric={metric} axis={axis} {...found} />
        )
      }
      spoken={found === null ? 'no point selected' : spokenOf(metric, axis, found)}
      cursor={slider}
    />
  );
}

function Hint({ hasPoints }: { hasPoints: boolean }) {
  return hasPoints
    ? 'Point at a mark or use the arrow keys. Enter shows the sessions at that point.'
    : 'The axes are those of the plan. Points appear as their trials finish.';
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
