import { distributionOf, type ProgramInfo, type Run, type Tick } from '@shardlab/contract';
import { useMemo, useState } from 'react';
import { scalingLegend } from '../../charts/scaling-legend.ts';
import { variedInWords } from '../../model/combination-rows.ts';
import { formatMs, formatValue } from '../../model/format.ts';
import { chosenMetric, type Metric, metricsOf } from '../../model/point-metrics.ts';
import { runProvenance } from '../../model/provenance.ts';
import { isFinished } from '../../model/run-state.ts';
import { describeSeries, type RunPoint, type ScalingSeries } from '../../model/scaling-series.ts';
import { type RunScalingView, scalingView } from '../../model/scaling-view.ts';
import type { SweepAxis } from '../../model/sweep-axis.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { CombinationFigure } from '../../parts/combination-figure.tsx';
import { Legend } from '../../parts/legend-marks.tsx';
import { scalingTable } from '../../parts/run-figure.tsx';
import { SelectChoice } from '../../parts/select-choice.tsx';
import { useChartHint } from '../../parts/use-chart-hint.ts';
import { useScalingChart } from '../../parts/use-scaling-chart.ts';
import { useTables } from '../../parts/use-study.ts';
import type { RunSearch } from './run-search.ts';

export interface RunScalingProps {
  run: Run;
  program: ProgramInfo;
  /** The newest tick of a run under way; null for none. */
  live: Tick | null;
  search: RunSearch;
  onSearch(change: { metric?: string; point?: string | undefined }): void;
}

/** So that the first screen of the page also holds what explains the lines. */
const labelledPx = [216, 310] as const;
const withLegendPx = 280;

/**
 * A figure over the sweep of a run: its axes or its rows are those of the plan, its points appear as their trials finish.
 */
export function RunScaling(props: RunScalingProps) {
  const { run, program, live, search, onSearch } = props;
  const metric = useMemo(() => chosenMetric(metricsOf(program), search.metric), [program, search.metric]);
  const tables = useTables(run.scenario.study);
  const [variant, setVariant] = useState<string | null>(null);
  const view = useMemo(
    () =>
      scalingView(run, { program, metric, expectsPoints: !isFinished(run.status), live, tables, variant }),
    [run, program, metric, live, tables, variant],
  );
  if (view !== null) return <Scaling {...props} metric={metric} view={view} onVariant={setVariant} />;
  return (
    <CombinationFigure
      {...{ run, program, metric, live }}
      provenance={runProvenance(run)}
      title={[metric.title, variedInWords(run, program)].filter((part) => part !== '').join(', ')}
      selected={search.point ?? null}
      onSelect={(point) => onSearch({ point: point === search.point ? undefined : point })}
      controls={<MetricChoice program={program} metric={metric} onSearch={onSearch} />}
    />
  );
}

function Scaling(
  props: RunScalingProps & { metric: Metric; view: RunScalingView; onVariant(variant: string): void },
) {
  const { run, program, search, onSearch, metric, view, onVariant } = props;
  const { axis } = view;
  const hasDocument = view.references.length + view.curves.length > 0;
  const { box, element, height, series, styles, hasLineLabels, hint, found, slider } = useScalingChart(view, {
    metric,
    selected: search.point ?? null,
    labelled: labelledPx,
    withLegend: withLegendPx,
    onSelect: (point) => onSearch({ point: point === search.point ? undefined : point }),
  });
  const legend = scalingLegend(series, {
    styles,
    hasReferences: hasDocument,
    hasTripPanels: view.panels.length > 1,
  });
  return (
    <ChartFrame
      title={`${metric.title} over ${axis.over}${view.variant === null ? '' : `, ${view.variant}`}`}
      unit={[
        `${metric.unit}, logarithmic`,
        ...(hasDocument ? ['wide pale lines: the document'] : []),
        ...(hasRanges(series)
          ? ['vertical strokes: the 95 % interval; of fewer than five repeats, their range']
          : []),
        ...(hint === '' ? [] : [hint]),
      ].join('; ')}
      fileName={`${run.scenario.id}-${metric.id}`}
      table={() => scalingTable(series, `${metric.label} (${metric.unit})`, view)}
      svg={element}
      box={box}
      height={height}
      controls={
        <>
          <MetricChoice program={program} metric={metric} onSearch={onSearch} />
          {view.variant !== null && (
            <SelectChoice
              label="With"
              value={view.variant}
              options={view.variants.map((value) => ({ value, label: value }))}
              onChange={onVariant}
            />
          )}
        </>
      }
      saved={{ legend, provenance: runProvenance(run) }}
      legend={hasLineLabels ? undefined : <Legend items={legend} />}
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

const hasRanges = (series: readonly ScalingSeries[]): boolean =>
  series.some(({ points }) => points.some(({ range }) => range !== undefined && range[0] < range[1]));

function MetricChoice({
  program,
  metric,
  onSearch,
}: Pick<RunScalingProps, 'program' | 'onSearch'> & { metric: Metric }) {
  return (
    <SelectChoice
      label="Show"
      value={metric.id}
      options={metricsOf(program).map(({ id, label }) => ({ value: id, label }))}
      onChange={(id) => onSearch({ metric: id })}
    />
  );
}

function Hint({ hasPoints }: { hasPoints: boolean }) {
  const pointing = useChartHint(
    'Point at a mark or use the arrow keys. Enter shows the sessions at that point.',
  );
  return hasPoints ? pointing : 'The axes are those of the plan. Points appear as their trials finish.';
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
      {describeSeries(series)}, {axis.describe(point.x)}
      {latency.count === 0 ? '' : `; latency p50 ${formatMs(latency.p50)}, p99 ${formatMs(latency.p99)}`}
    </>
  );
}

const spokenOf = (metric: Metric, axis: SweepAxis, found: Found): string =>
  `${describeSeries(found.series)}, ${axis.describe(found.point.x)}: ${metric.format(found.point.value)}`;
