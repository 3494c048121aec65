import type { QueueStats } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { queueStatsQuery } from '../../api/queries.ts';
import { formatCount, formatDuration, formatRate, formatTimeOfDay } from '../../model/format.ts';
import { formatDrain } from '../../model/queue-metrics-text.ts';
import { QueryResult } from '../../parts/query-states.tsx';
import { MonitorTables } from './monitor-tables.tsx';
import { QueueCharts } from './queue-charts.tsx';

/** The metrics of a queue, polled every second, and its history. */
export function QueueMonitor({ queue }: { queue: string }) {
  const query = useQuery(queueStatsQuery(queue));
  return (
    <QueryResult query={query} name="the metrics of the queue">
      {(stats) => (
        <div className="section queue-monitor">
          <Totals stats={stats} />
          <QueueCharts queue={stats.queue} kind={stats.kind} />
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
