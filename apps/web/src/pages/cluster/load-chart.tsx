import type { ClusterEvent, ClusterLoad } from '@shardlab/contract';
import { useMemo } from 'react';
import { clockPrecision, formatClock, formatRate } from '../../model/format.ts';
import { loadAnnotations, loadMarks, loadRange, loadTable } from '../../model/load-chart-data.ts';
import { liveProvenance } from '../../model/provenance.ts';
import { SampleChart } from '../../parts/sample-chart.tsx';

/** The throughput of the load over time, annotated with the events of the cluster. */
export function LoadChart({ load, events }: { load: ClusterLoad; events: readonly ClusterEvent[] }) {
  const range = useMemo(() => loadRange(load), [load]);
  const clock = (atMs: number) => formatClock(atMs, clockPrecision(range.toMs - range.fromMs));
  const marks = useMemo(() => loadMarks(load), [load]);
  const annotations = useMemo(() => loadAnnotations(load, events), [load, events]);
  return (
    <SampleChart
      title="Throughput of the load"
      unit="messages per second, averaged over 0.25 s"
      fileName="cluster-load"
      samples={load.samples}
      range={range}
      marks={marks}
      annotations={annotations}
      system="sharded"
      provenance={liveProvenance(`load on queue ${load.queue}, ${formatRate(load.ratePerSec)} requested`, {
        host: window.location.host,
        atMs: load.startedAtMs + (load.samples.at(-1)?.atMs ?? 0),
      })}
      lines={{ primary: 'consumed', secondary: 'acknowledged' }}
      table={() => loadTable(load)}
      readout={(sample) => (
        <>
          {clock(sample.atMs)} acknowledged <b>{formatRate(sample.acknowledgedPerSec)}</b>, consumed{' '}
          <b>{formatRate(sample.consumedPerSec)}</b>
        </>
      )}
      spoken={(sample) =>
        `${clock(sample.atMs)}: acknowledged ${formatRate(sample.acknowledgedPerSec)}, consumed ${formatRate(sample.consumedPerSec)}`
      }
    />
  );
}
