import type { ClusterEvent, ClusterLoad } from '@shardlab/contract';
import { useMemo } from 'react';
import { formatClock, formatRate } from '../model/format.ts';
import { loadMarks, loadMoments, loadRange, loadTable } from '../model/load-chart-data.ts';
import { RateChart } from './rate-chart.tsx';

/** Throughput of the load over its time, with what happened to the cluster marked in it. */
export function LoadChart({ load, events }: { load: ClusterLoad; events: readonly ClusterEvent[] }) {
  const range = useMemo(() => loadRange(load), [load]);
  const marks = useMemo(() => loadMarks(load), [load]);
  const moments = useMemo(() => loadMoments(load, events), [load, events]);
  return (
    <RateChart
      title="Throughput of the load"
      unit="messages per second, a quarter of a second each"
      fileName="cluster-load"
      samples={load.samples}
      range={range}
      marks={marks}
      moments={moments}
      implementation="sharded"
      lines={{ main: 'consumed', side: 'acknowledged' }}
      table={() => loadTable(load)}
      readout={(shown) => (
        <>
          {formatClock(shown.atMs)} acknowledged <b>{formatRate(shown.acknowledgedPerSec)}</b>, consumed{' '}
          <b>{formatRate(shown.consumedPerSec)}</b>
        </>
      )}
      spoken={(shown) =>
        `${formatClock(shown.atMs)}: acknowledged ${formatRate(shown.acknowledgedPerSec)}, consumed ${formatRate(shown.consumedPerSec)}`
      }
    />
  );
}
