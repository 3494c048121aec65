import type { QueueStats } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { queueStatsQuery } from '../../api/queries.ts';
import { formatCount, formatDuration, formatRate, formatTimeOfDay } from '../../model/format.ts';
import { addReading, type QueueReading } from '../../model/queue-history.ts';
import { formatDrain } from '../../model/queue-metrics-text.ts';
import { QueryResult } from '../../parts/query-states.tsx';
import { MonitorTables } from './monitor-tables.tsx';
import { QueueRateChart } from './queue-rate-chart.tsx';

/** The metrics of a queue, polled every second, and their history since the page was opened. */
export function QueueMonitor({ queue }: { queue: string }) {
  const query = useQuery(queueStatsQuery(queue));
  const [readings, setReadings] = useState<readonly QueueReading[]>([]);
  useEffect(() => {
    const stats = query.data;
    if (stats !== undefined) setReadings((before) => addReading(before, stats));
  }, [query.data]);
  return (
    <QueryResult query={query} name="the metrics of the queue">
      {(stats) => (
        <div className="section queue-monitor">
          <Totals stats={stats} />
          <QueueRateChart stats={stats} readings={readings} />
          <MonitorTables stats={stats} />
        </div>
      )}
    </QueryResult>
  );
}

function Totals({ stats: { total, type, asOfMs } }: { stats: QueueStats }) {
  const metrics: [name: string, value: string][] = [
    [type === 'topic' ? 'Depth (slowest subscriber)' : 'Depth', formatCount(total.depth)],
    ['Held', formatCount(total.held)],
    ['Delayed', formatCount(total.delayed)],
    ['In', formatRate(total.enqueuePerSec)],
    ['Out', formatRate(total.dequeuePerSec)],
    ['Empty in', formatDrain(total)],
  ];
  return (
    <div className="panel queue-totals">
      <dl className="figures">
        {metrics.map(([name, value]) => (
          <div key={name}>
            <dt className="figure-name">{name}</dt>
            <dd className="figure-value">{value}</dd>
          </div>
        ))}
      </dl>
      <p className="small muted">
        As of {formatTimeOfDay(asOfMs)}. Rates are averages over the last {formatDuration(total.windowMs)}.
        “Empty in” is the depth divided by the difference between the two rates.
      </p>
    </div>
  );
}
