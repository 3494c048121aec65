import type { QueueStats } from '@shardlab/contract';
import { useMemo } from 'react';
import { formatClock, formatCount, formatRate, plural } from '../model/format.ts';
import { type QueueLook, queueMarks, queueRange, queueSamples, queueTable } from '../model/queue-history.ts';
import { RateChart } from './rate-chart.tsx';

/** What came to a queue and went from it while the page looked at it. */
export function QueueRateChart({ stats, looks }: { stats: QueueStats; looks: readonly QueueLook[] }) {
  const { kind, queue } = stats;
  const samples = useMemo(() => queueSamples(looks), [looks]);
  const range = useMemo(() => queueRange(samples), [samples]);
  const marks = useMemo(() => queueMarks(samples, kind), [samples, kind]);
  return (
    <RateChart
      title="In and out"
      unit="messages per second, a second each, since this page was opened"
      fileName={`queue-${queue}`}
      samples={samples}
      range={range}
      marks={marks}
      implementation={kind}
      lines={{ main: 'dequeued', side: 'enqueued' }}
      table={() => queueTable(samples)}
      readout={(shown) => (
        <>
          {formatClock(shown.atMs)} enqueued <b>{formatRate(shown.enqueuePerSec)}</b>, dequeued{' '}
          <b>{formatRate(shown.dequeuePerSec)}</b>, depth <b>{formatCount(shown.depth)}</b>
        </>
      )}
      spoken={(shown) =>
        `${formatClock(shown.atMs)}: enqueued ${formatRate(shown.enqueuePerSec)}, dequeued ${formatRate(shown.dequeuePerSec)}, ${plural(shown.depth, 'message')} in the queue`
      }
    />
  );
}
