import { figureOf, type Point } from '@shardlab/contract';
import { useMemo } from 'react';
import { createScalingChart } from '../../charts/scaling-chart.ts';
import { whatIfLegend } from '../../charts/what-if-legend.ts';
import type { DataTable } from '../../model/data-table.ts';
import { formatAxisCount, formatMs, plural } from '../../model/format.ts';
import type { Metric } from '../../model/point-metrics.ts';
import {
  type CursorKey,
  cursorKeys,
  findPoint,
  moveCursor,
  type ScalingSeries,
} from '../../model/scaling-series.ts';
import { type SimulatedPoint, type WhatIfPoint, whatIfSeries } from '../../model/what-if-series.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { Legend } from '../../parts/legend-marks.tsx';
import { usePointerChart, useWidth } from '../../parts/use-chart.ts';
import { useChartHint } from '../../parts/use-chart-hint.ts';

export interface WhatIfChartProps {
  metric: Metric;
  controls: React.ReactNode;
  instances: number;
  threads: readonly number[];
  simulated: readonly SimulatedPoint[];
  /** Points of the previous position, drawn as a ghost. */
  before: readonly SimulatedPoint[];
  /** The point under the cursor; null for none. */
  cursor: string | null;
  onCursor(key: string | null): void;
  measured: readonly Point[];
  /** Where the data come from, below a saved image. */
  provenance: string;
  note: string | null;
}

type Found = { series: ScalingSeries<WhatIfPoint>; point: WhatIfPoint };

/** Simulated lines over the number of threads, with measured points on top. */
export function WhatIfChart(props: WhatIfChartProps) {
  const { metric, instances, threads, simulated, before, measured, cursor, onCursor } = props;
  const series = useMemo(
    () => whatIfSeries({ simulated, before, measured }, { metric, instances }),
    [simulated, before, measured, metric, instances],
  );
  const reachable = useMemo(() => series.filter(({ drawnAs }) => drawnAs !== 'ghost'), [series]);
  const pointing = useChartHint(
    'Point at a line or a mark, or use the arrow keys, to see the values and what limits them.',
    'Touch a line or a mark to see the values and what limits them.',
  );
  const { box, width } = useWidth();
  const height = Math.round(Math.min(480, Math.max(300, width * 0.6)));
  const data = useMemo(
    () => ({
      width: Math.max(width, 240),
      height,
      panels: [{ id: 'all', title: '', series, live: null }],
      axis: { title: 'threads (n enqueuers and n dequeuers)', format: formatAxisCount },
      xs: threads,
      domain: null,
      references: [],
      labelWidth: null,
      hasLinearGuide: metric.growsWith === 'threads',
      formatAxis: metric.formatAxis,
      cursor,
      selected: null,
    }),
    [width, height, series, threads, metric, cursor],
  );
  const { element } = usePointerChart(createScalingChart, { onCursor, onSelect: onCursor }, data);
  const legend = whatIfLegend({ hasMeasured: measured.length > 0, hasGhost: before.length > 0, instances });
  const found = findPoint(reachable, cursor);
  const keys = reachable.flatMap((entry) => entry.points.map((point) => point.key));
  const onKey = (key: string): boolean => {
    if (key === 'Escape') onCursor(null);
    else if (cursorKeys.includes(key)) onCursor(moveCursor(reachable, cursor, key as CursorKey));
    else return false;
    return true;
  };
  return (
    <ChartFrame
      title={`${metric.title} over threads`}
      unit={`${metric.unit}, both axes logarithmic`}
      fileName={`what-if-${metric.id}`}
      table={() => tableOf(series, metric)}
      svg={element}
      box={box}
      height={height}
      controls={props.controls}
      saved={{ legend, provenance: props.provenance }}
      legend={<Legend items={legend} />}
      readout={found === null ? pointing : <Readout metric={metric} found={found} />}
      spoken={found === null ? 'no point selected' : spokenOf(metric, found)}
      cursor={{ now: Math.max(0, keys.indexOf(cursor ?? '')), max: Math.max(1, keys.length - 1), onKey }}
      note={props.note}
    />
  );
}

function Readout({ metric, found: { series, point } }: { metric: Metric; found: Found }) {
  const latency = (name: string) => formatMs(figureOf(point.metrics, name));
  return (
    <>
      <b>{metric.format(point.value)}</b> {kindOf(series)} {series.system},{' '}
      {`${plural(point.x, 'thread')}; latency p50 `} {latency('latencyP50Ms')}, p99 {latency('latencyP99Ms')}
      {point.limitedBy === null ? '' : `; limited by ${point.limitedBy.words}`}
    </>
  );
}

const kindOf = ({ drawnAs }: ScalingSeries) => (drawnAs === 'simulated' ? 'simulated,' : 'measured,');

const spokenOf = (metric: Metric, { series, point }: Found): string =>
  `${kindOf(series)} ${series.system}, ${plural(point.x, 'thread')}: ${metric.format(point.value)}`;

function tableOf(series: readonly ScalingSeries<WhatIfPoint>[], metric: Metric): DataTable {
  return {
    columns: ['Queue', 'Source', 'Threads', `${metric.label} (${metric.unit})`],
    rows: series.flatMap((entry) =>
      entry.points.map((point) => [entry.system, entry.drawnAs ?? '', point.x, point.value]),
    ),
  };
}
