import type { QueueStats } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { queueStatsQuery } from '../api/queries.ts';
import { formatCount, formatDuration, formatRate, formatTimeOfDay } from '../model/format.ts';
import { type QueueLook, withLook } from '../model/queue-history.ts';
import { drainWords } from '../model/queue-words.ts';
import { Answered } from './page-states.tsx';
import { QueueMonitorTables } from './queue-monitor-tables.tsx';
import { QueueRateChart } from './queue-rate-chart.tsx';

/** How a queue is doing: its figures a second ago, and since this page was opened. */
export function QueueMonitor({ queue }: { queue: string }) {
  const query = useQuery(queueStatsQuery(queue));
  const [looks, setLooks] = useState<readonly QueueLook[]>([]);
  useEffect(() => {
    const seen = query.data;
    if (seen !== undefined) setLooks((before) => withLook(before, seen));
  }, [query.data]);
  return (
    <Answered query={query} what="figures of the queue">
      {(stats) => (
        <div className="section queue-monitor">
          <Totals stats={stats} />
          <QueueRateChart stats={stats} looks={looks} />
          <QueueMonitorTables stats={stats} />
        </div>
      )}
    </Answered>
  );
}

function Totals({ stats: { total, type, asOfMs } }: { stats: QueueStats }) {
  const figures: [name: string, value: string][] = [
    [type === 'topic' ? 'Before the slowest' : 'Depth', formatCount(total.depth)],
    ['Held', formatCount(total.held)],
    ['Delayed', formatCount(total.delayed)],
    ['In', formatRate(total.enqueuePerSec)],
    ['Out', formatRate(total.dequeuePerSec)],
    ['Empty in', drainWords(total)],
  ];
  return (
    <div className="panel queue-totals">
      <dl className="figures">
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt className="figure-name">{name}</dt>
            <dd className="figure-value">{value}</dd>
          </div>
        ))}
      </dl>
      <p className="small muted">
        As of {formatTimeOfDay(asOfMs)}. Rates are counted over the last {formatDuration(total.windowMs)}, and
        “empty in” is the depth over what goes in excess of what comes.
      </p>
    </div>
  );
}
