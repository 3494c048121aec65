import type { Point } from '@shardlab/contract';
import { bottleneckOf, type ResourceUse } from '@shardlab/model';
import { useCallback, useMemo, useRef, useState } from 'react';
import { createScalingChart, type ScalingChartEvents } from '../charts/scaling-chart.ts';
import type { DataTable } from '../model/csv.ts';
import { formatAxisCount, formatMs, plural } from '../model/format.ts';
import type { Metric } from '../model/metrics.ts';
import {
  type CursorKey,
  cursorKeys,
  findPoint,
  moveCursor,
  type ScalingSeries,
} from '../model/scaling-series.ts';
import { type SimulatedPoint, type WhatIfPoint, whatIfSeries } from '../model/what-if-series.ts';
import { ChartFrame } from './chart-frame.tsx';
import { useChart, useWidth } from './use-chart.ts';
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

/** Simulated lines over the threads, measured points on top. */
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
      series,
      axis: { title: 'threads (enqueuers, and as many dequeuers)', format: formatAxisCount },
      xs: threads,
      references: [],
      guide: metric.scalesWithThreads,
      formatAxis: metric.formatAxis,
      cursor,
      selected: null,
    }),
    [width, height, series, threads, metric, cursor],
  );
  const { element } = useChart(create, data);
  const found = findPoint(series, cursor);
  const all = series.flatMap((entry) => entry.points.map((point) => point.key));
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
          'Point at a line or a mark, or use the arrow keys: what the model says is used most there.'
        ) : (
          <Readout metric={metric} found={found} />
        )
      }
      spoken={found === null ? 'no point' : spokenOf(metric, found)}
      cursor={{ now: Math.max(0, all.indexOf(cursor ?? '')), max: Math.max(1, all.length - 1), onKey }}
      note={props.note}
    />
  );
}

function Readout({ metric, found: { series, point } }: { metric: Metric; found: Found }) {
  const { latencyMs } = point.figures;
  return (
    <>
      <b>{metric.format(point.value)}</b> {kindOf(series)} {series.implementation},{' '}
      {plural(point.x, 'thread')}; latency p50 {formatMs(latencyMs.p50)}, p99 {formatMs(latencyMs.p99)}
      {point.use === null ? '' : `; ${limitInWords(point.use)}`}
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
  indexBlock: 'the block or lock that all change',
};

function limitInWords(use: ResourceUse): string {
  const limit = bottleneckOf(use);
  return limit === null
    ? 'nothing is in use for half of the time: sessions wait for round trips and syncs'
    : `used most: ${resourceNames[limit.resource]}, ${Math.round(limit.share * 100)} %`;
}

const spokenOf = (metric: Metric, { series, point }: Found): string =>
  `${kindOf(series)} ${series.implementation}, ${plural(point.x, 'thread')}: ${metric.format(point.value)}`;

function tableOf(series: readonly ScalingSeries<WhatIfPoint>[], metric: Metric): DataTable {
  return {
    columns: ['Queue', 'Source', 'Threads', `${metric.label} (${metric.unit})`],
    rows: series.flatMap((entry) =>
      entry.points.map((point) => [entry.implementation, entry.drawnAs ?? '', point.x, point.value]),
    ),
  };
}
