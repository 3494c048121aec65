import type { QueueStats } from '@shardlab/contract';
import { useMemo } from 'react';
import { formatClock, formatCount, formatRate, plural } from '../../model/format.ts';
import {
  type QueueReading,
  queueMarks,
  queueRange,
  queueSamples,
  queueTable,
} from '../../model/queue-history.ts';
import { RateChart } from '../../parts/rate-chart.tsx';

/** Enqueue and dequeue rate of a queue since the page was opened. */
export function QueueRateChart({
  stats,
  readings,
}: {
  stats: QueueStats;
  readings: readonly QueueReading[];
}) {
  const { kind, queue } = stats;
  const samples = useMemo(() => queueSamples(readings), [readings]);
  const range = useMemo(() => queueRange(samples), [samples]);
  const marks = useMemo(() => queueMarks(samples, kind), [samples, kind]);
  return (
    <RateChart
      title="Enqueue and dequeue rate"
      unit="messages per second, averaged over 1 s, since this page was opened"
      fileName={`queue-${queue}`}
      samples={samples}
      range={range}
      marks={marks}
      system={kind}
      lines={{ primary: 'dequeued', secondary: 'enqueued' }}
      table={() => queueTable(samples)}
      readout={(sample) => (
        <>
          {formatClock(sample.atMs)} enqueued <b>{formatRate(sample.enqueuePerSec)}</b>, dequeued{' '}
          <b>{formatRate(sample.dequeuePerSec)}</b>, depth <b>{formatCount(sample.depth)}</b>
        </>
      )}
      spoken={(sample) =>
        `${formatClock(sample.atMs)}: enqueued ${formatRate(sample.enqueuePerSec)}, dequeued ${formatRate(sample.dequeuePerSec)}, ${plural(sample.depth, 'message')} in the queue`
      }
    />
  );
}
