import type { ClusterEvent, ClusterLoad } from '@shardlab/contract';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { implementationColor } from '../charts/ink.ts';
import { createTimeChart, type TimeChart, type TimeChartData } from '../charts/time-chart.ts';
import { formatAxisCount, formatClock, formatRate } from '../model/format.ts';
import { loadMarks, loadMoments, loadRange, loadTable } from '../model/load-chart-data.ts';
import { ChartFrame } from './chart-frame.tsx';
import { Stroke } from './scaling-legend.tsx';
import { moveTimeCursor, TimeCursor, useCursorTime } from './time-cursor.ts';
import { useChart, useWidth } from './use-chart.ts';

const height = 200;

/** Throughput of the load over its time, with what happened to the cluster marked in it. */
export function LoadChart({ load, events }: { load: ClusterLoad; events: readonly ClusterEvent[] }) {
  const [cursor] = useState(() => new TimeCursor());
  const { box, width } = useWidth();
  const create = useCallback(
    (svg: SVGSVGElement): TimeChart => createTimeChart(svg, { onCursor: cursor.set }),
    [cursor],
  );
  const data = useMemo(
    (): TimeChartData => ({
      width: Math.max(width, 240),
      height,
      range: loadRange(load),
      marks: loadMarks(load),
      moments: loadMoments(load, events),
      trials: [],
      scale: 'linear',
      reference: null,
      formatAxis: formatAxisCount,
    }),
    [width, load, events],
  );
  const { element, chart } = useChart<TimeChartData, TimeChart>(create, data);
  useEffect(() => cursor.subscribe(() => chart.current?.moveCursor(cursor.get())), [cursor, chart]);
  const atMs = useCursorTime(cursor);
  const last = load.samples.at(-1);
  const shown = atMs === null ? last : nearest(load.samples, atMs);
  return (
    <ChartFrame
      title="Throughput of the load"
      unit="messages per second, a quarter of a second each"
      fileName="cluster-load"
      table={() => loadTable(load)}
      svg={element}
      box={box}
      height={height}
      legend={<Legend />}
      readout={
        shown === undefined ? (
          '–'
        ) : (
          <>
            {formatClock(shown.atMs)} acknowledged <b>{formatRate(shown.acknowledgedPerSec)}</b>, consumed{' '}
            <b>{formatRate(shown.consumedPerSec)}</b>
          </>
        )
      }
      spoken={
        shown === undefined
          ? 'no figures'
          : `${formatClock(shown.atMs)}: acknowledged ${formatRate(shown.acknowledgedPerSec)}, consumed ${formatRate(shown.consumedPerSec)}`
      }
      cursor={{
        now: Math.round((atMs ?? last?.atMs ?? 0) / 1000),
        max: Math.round(data.range.toMs / 1000),
        onKey: (key) => moveTimeCursor(cursor, key, [load]),
      }}
    />
  );
}

function Legend() {
  const color = implementationColor.sharded;
  return (
    <ul className="legend" aria-label="Legend">
      <li>
        <Stroke dash={null} color={color} />
        consumed
      </li>
      <li>
        <Stroke dash={null} color={color} thin />
        acknowledged
      </li>
    </ul>
  );
}

function nearest<T extends { atMs: number }>(samples: readonly T[], atMs: number): T | undefined {
  return samples.reduce<T | undefined>(
    (best, sample) =>
      best === undefined || Math.abs(sample.atMs - atMs) < Math.abs(best.atMs - atMs) ? sample : best,
    undefined,
  );
}
