import { figureOf, type Point } from '@shardlab/contract';
import { bottleneckOf, type ResourceUse } from '@shardlab/model';
import { useCallback, useMemo, useRef, useState } from 'react';
import { createScalingChart, type ScalingChartEvents } from '../../charts/scaling-chart.ts';
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
import { useChart, useWidth } from '../../parts/use-chart.ts';
import { WhatIfLegend } from './what-if-legend.tsx';

export interface WhatIfChartProps {
  metric: Metric;
  controls: React.ReactNode;
  instances: number;
  threads: readonly number[];
  simulated: readonly SimulatedPoint[];
  measured: readonly Point[];
  note: string | null;
}

type Found = { series: ScalingSeries<WhatIfPoint>; point: WhatIfPoint };

/** Simulated lines over the number of threads, with measured points on top. */
export function WhatIfChart(props: WhatIfChartProps) {
  const { metric, instances, threads, simulated, measured } = props;
  const series = useMemo(
    () => whatIfSeries(simulated, measured, { metric, instances }),
    [simulated, measured, metric, instances],
  );
  const [cursor, setCursor] = useState<string | null>(null);
  const { box, width } = useWidth();
  const height = Math.round(Math.min(480, Math.max(300, width * 0.6)));
  const events = useRef<ScalingChartEvents>({ onCursor: () => {}, onSelect: () => {} });
  events.current = { onCursor: setCursor, onSelect: setCursor };
  const create = useCallback(
    (svg: SVGSVGElement) =>
      createScalingChart(svg, {
        onCursor: (key) => events.current.onCursor(key),
        onSelect: (key) => events.current.onSelect(key),
      }),
    [],
  );
  const data = useMemo(
    () => ({
      width: Math.max(width, 240),
      height,
      panels: [{ id: 'all', title: '', series, live: null }],
      axis: { title: 'threads (n enqueuers and n dequeuers)', format: formatAxisCount },
      xs: threads,
      domain: null,
      references: [],
      hasLineLabels: false,
      hasLinearGuide: metric.growsWith === 'threads',
      formatAxis: metric.formatAxis,
      cursor,
      selected: null,
    }),
    [width, height, series, threads, metric, cursor],
  );
  const { element } = useChart(create, data);
  const found = findPoint(series, cursor);
  const keys = series.flatMap((entry) => entry.points.map((point) => point.key));
  const onKey = (key: string): boolean => {
    if (key === 'Escape') setCursor(null);
    else if (cursorKeys.includes(key)) setCursor(moveCursor(series, cursor, key as CursorKey));
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
      legend={<WhatIfLegend hasMeasured={measured.length > 0} instances={instances} />}
      readout={
        found === null ? (
          'Point at a line or a mark, or use the arrow keys, to see the values and the bottleneck.'
        ) : (
          <Readout metric={metric} found={found} />
        )
      }
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
      {point.use === null ? '' : `; ${describeBottleneck(point.use)}`}
    </>
  );
}

const kindOf = ({ drawnAs }: ScalingSeries) => (drawnAs === 'simulated' ? 'simulated,' : 'measured,');

const resourceNames: Record<keyof ResourceUse, string> = {
  cores: 'the cores',
  sessionThread: 'a session thread',
  writerThread: 'a writer thread',
  redoDevice: 'the disk',
  partitionMaintenance: 'partition maintenance',
  indexBlock: 'the shared index block or write lock',
};

function describeBottleneck(use: ResourceUse): string {
  const limit = bottleneckOf(use);
  return limit === null
    ? 'no resource is busy half of the time: sessions wait for round trips and syncs'
    : `bottleneck: ${resourceNames[limit.resource]}, ${Math.round(limit.share * 100)} % busy`;
}

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
