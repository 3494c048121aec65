import { distributionOf, type ProgramInfo, type Run } from '@shardlab/contract';
import { useCallback, useMemo, useRef, useState } from 'react';
import { createScalingChart, type ScalingChartEvents } from '../../charts/scaling-chart.ts';
import type { DataTable } from '../../model/data-table.ts';
import { formatMs } from '../../model/format.ts';
import { chosenMetric, type Metric, metricsOf } from '../../model/point-metrics.ts';
import {
  type CursorKey,
  cursorKeys,
  describeSeries,
  findPoint,
  moveCursor,
  type RunPoint,
  roundTripsIn,
  type ScalingSeries,
  scalingSeries,
} from '../../model/scaling-series.ts';
import { type SweepAxis, sweepAxis } from '../../model/sweep-axis.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { Choice } from '../../parts/choice.tsx';
import { useChart, useWidth } from '../../parts/use-chart.ts';
import type { RunSearch } from './run-search.ts';
import { ScalingLegend } from './scaling-legend.tsx';

export interface RunScalingProps {
  run: Run;
  program: ProgramInfo;
  search: RunSearch;
  onSearch(change: { metric?: string; trip?: number | undefined; point?: string | undefined }): void;
}

/** The scaling chart of a run with its controls. Points appear as their trials finish. */
export function RunScaling(props: RunScalingProps) {
  const { run, program, search, onSearch } = props;
  const metric = useMemo(() => chosenMetric(metricsOf(program), search.metric), [program, search.metric]);
  const roundTrip = search.trip ?? 'all';
  const series = useMemo(
    () => scalingSeries(run.points, { metric, roundTrip, sweep: run.scenario.sweep, program }),
    [run.points, metric, roundTrip, run.scenario, program],
  );
  const [cursor, setCursor] = useState<string | null>(null);
  const { box, width } = useWidth();
  const height = Math.round(Math.min(520, Math.max(300, width * 0.62)));
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
  const { scenario } = run;
  const axis = useMemo(() => sweepAxis(scenario.sweep, program), [scenario, program]);
  const references = useMemo(
    () =>
      (scenario.references ?? [])
        .filter((reference) => reference.figure === metric.id)
        .map((reference) => ({
          ...reference,
          shortLabel: `${metric.format(reference.value)} in the document`,
        })),
    [scenario, metric],
  );
  const selected = search.point ?? null;
  const data = useMemo(
    () => ({
      width: Math.max(width, 240),
      height,
      series,
      axis,
      xs: plannedValues(run, axis),
      references,
      hasLinearGuide: metric.growsWith === axis.id,
      formatAxis: metric.formatAxis,
      cursor,
      selected,
    }),
    [width, height, series, run, axis, references, metric, cursor, selected],
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
  return (
    <section className="section" aria-labelledby="scaling">
      <h2 id="scaling">{scenario.figure ?? `Results over ${axis.over}`}</h2>
      <ChartFrame
        title={`${metric.title} over ${axis.over}`}
        unit={`${metric.unit}, both axes logarithmic`}
        fileName={`${scenario.id}-${metric.id}`}
        table={() => tableOf(series, metric, axis)}
        svg={element}
        box={box}
        height={height}
        controls={<ChartControls {...props} metric={metric} />}
        legend={<ScalingLegend series={series} references={references.length > 0} />}
        readout={
          found === null ? <Hint points={keys.length} /> : <Readout metric={metric} axis={axis} {...found} />
        }
        spoken={found === null ? 'no point selected' : spokenOf(metric, axis, found)}
        cursor={{ now: Math.max(0, keys.indexOf(cursor ?? '')), max: Math.max(1, keys.length - 1), onKey }}
      />
    </section>
  );
}

function ChartControls({ run, program, search, onSearch, metric }: RunScalingProps & { metric: Metric }) {
  const trips = roundTripsIn(run.points);
  return (
    <div className="row">
      <Choice
        label="Show"
        value={metric.id}
        options={metricsOf(program).map(({ id, label }) => ({ value: id, label }))}
        onChange={(id) => onSearch({ metric: id })}
      />
      {trips.length > 1 ? (
        <Choice
          label="Round trip"
          value={String(search.trip ?? 'all')}
          options={[
            { value: 'all', label: 'All' },
            ...trips.map((trip) => ({
              value: String(trip),
              label: trip === 0 ? 'None' : `${trip} ms`,
            })),
          ]}
          onChange={(trip) => onSearch({ trip: trip === 'all' ? undefined : Number(trip) })}
        />
      ) : null}
    </div>
  );
}

function Hint({ points }: { points: number }) {
  return points === 0
    ? 'Points appear as their trials finish.'
    : 'Point at a mark or use the arrow keys. Enter limits the time charts to that point.';
}

function Readout({
  metric,
  axis,
  series,
  point,
}: {
  metric: Metric;
  axis: SweepAxis;
  series: ScalingSeries;
  point: RunPoint;
}) {
  const latency = distributionOf(point.point, 'latency');
  return (
    <>
      <b>{metric.format(point.value)}</b> {describeSeries(series)}, {axis.describe(point.x)}; latency p50{' '}
      {formatMs(latency.p50)}, p99 {formatMs(latency.p99)}
    </>
  );
}

const spokenOf = (
  metric: Metric,
  axis: SweepAxis,
  found: { series: ScalingSeries; point: RunPoint },
): string =>
  `${describeSeries(found.series)}, ${axis.describe(found.point.x)}: ${metric.format(found.point.value)}`;

/** The planned values of the horizontal axis at the scale of the run. */
function plannedValues({ scenario, scale }: Run, { id }: SweepAxis): readonly number[] {
  const quick = scale === 'quick' ? scenario.quick?.sweep?.[id] : undefined;
  const values = quick ?? scenario.sweep[id] ?? [scenario.parameters[id]];
  return values.filter((value) => typeof value === 'number');
}

function tableOf(series: readonly ScalingSeries[], metric: Metric, axis: SweepAxis): DataTable {
  const hasOtherParams = series.some((entry) => entry.otherParams.length > 0);
  return {
    columns: [
      'System',
      'Instances',
      'Round trip ms',
      ...(hasOtherParams ? ['Other parameters'] : []),
      axis.id === 'threads' ? 'Threads' : axis.title,
      `${metric.label} (${metric.unit})`,
    ],
    rows: series.flatMap((entry) =>
      entry.points.map((point) => [
        entry.system,
        entry.instances,
        entry.roundTripMs,
        ...(hasOtherParams ? [entry.otherParams.join(', ')] : []),
        point.x,
        point.value,
      ]),
    ),
  };
}
