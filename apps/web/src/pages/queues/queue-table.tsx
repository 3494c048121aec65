import type { QueueInfo, QueueSample } from '@shardlab/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { queueHistoriesQuery, setQueueEnabled } from '../../api/queries.ts';
import { systemColor } from '../../charts/visual-encoding.ts';
import { formatCount, plural } from '../../model/format.ts';
import { gapCount, stretchesOf } from '../../model/queue-history.ts';
import { type ListedQueue, withExceptionQueues } from '../../model/queue-order.ts';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { ScrollX } from '../../parts/scroll-x.tsx';
import { type SortedColumn, useSortedTable } from '../../parts/sorted-table.tsx';
import { Sparkline } from '../../parts/sparkline.tsx';
import { Switch } from '../../parts/switch.tsx';

const columns: readonly SortedColumn<ListedQueue>[] = [
  { id: 'queue', label: 'Queue', isNumber: false, value: ({ queue }) => queue.name },
  { id: 'ready', label: 'Ready', isNumber: true, value: ({ queue }) => queue.ready },
  { id: 'held', label: 'Held', isNumber: true, value: ({ queue }) => queue.held },
  { id: 'delayed', label: 'Delayed', isNumber: true, value: ({ queue }) => queue.delayed },
  { id: 'depth', label: 'Depth, 10 min', isNumber: false },
  { id: 'enqueued', label: 'Enqueued', isNumber: true, value: ({ queue }) => queue.enqueued },
  { id: 'consumed', label: 'Consumed', isNumber: true, value: ({ queue }) => queue.consumed },
  { id: 'enqueue', label: 'Enqueue', isNumber: false },
  { id: 'dequeue', label: 'Dequeue', isNumber: false },
];

/** All queues with their counts, and switches for enqueue and dequeue. */
export function QueueTable({ queues, chosen }: { queues: readonly QueueInfo[]; chosen: string | null }) {
  const histories = useQuery(queueHistoriesQuery).data?.queues ?? [];
  const samplesOf = (name: string) => histories.find(({ queue }) => queue === name)?.samples ?? [];
  const listed = useMemo(() => withExceptionQueues(queues), [queues]);
  const { headers, rows, isSorted } = useSortedTable(columns, listed);
  if (queues.length === 0) return <p className="empty">No queues yet. Create one here or through the API.</p>;
  return (
    <ScrollX label="All queues" framed>
      <table className="table queue-list">
        <thead>
          <tr>{headers}</tr>
        </thead>
        <tbody>
          {rows.map(({ queue, isException }) => (
            <tr key={queue.name} data-selected={queue.name === chosen ? '' : undefined}>
              <th scope="row" className={isException && !isSorted ? 'queue-exceptions' : undefined}>
                <Link to="/queues" search={{ queue: queue.name }}>
                  {queue.name}
                </Link>
                <span className="small muted queue-kind">
                  {kindInWords(queue)}, {queue.durability}
                </span>
              </th>
              <td className="number">{formatCount(queue.ready)}</td>
              <td className="number">{formatCount(queue.held)}</td>
              <td className="number">{formatCount(queue.delayed)}</td>
              <td>
                <DepthLine queue={queue} samples={samplesOf(queue.name)} />
              </td>
              <td className="number">{formatCount(queue.enqueued)}</td>
              <td className="number">{formatCount(queue.consumed)}</td>
              <td>
                <EnabledSwitch queue={queue} operation="enqueue" isOn={queue.enqueueEnabled} />
              </td>
              <td>
                <EnabledSwitch queue={queue} operation="dequeue" isOn={queue.dequeueEnabled} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function DepthLine({ queue, samples }: { queue: QueueInfo; samples: readonly QueueSample[] }) {
  if (samples.length < 2) return <span className="muted small">–</span>;
  const depths = samples.map(({ depth }) => depth);
  const gaps = gapCount(samples);
  const withGaps = gaps === 0 ? '' : `, with ${plural(gaps, 'gap')}`;
  return (
    <Sparkline
      stretches={stretchesOf(samples, ({ depth }) => depth)}
      color={systemColor(queue.kind)}
      label={`Depth of ${queue.name}: ${formatCount(depths[0]!)} at first, ${formatCount(depths.at(-1)!)} now, ${formatCount(Math.max(...depths))} at most${withGaps}`}
    />
  );
}

function EnabledSwitch(props: { queue: QueueInfo; operation: 'enqueue' | 'dequeue'; isOn: boolean }) {
  const { queue, operation, isOn } = props;
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: () => setQueueEnabled(queue.name, isOn ? 'stop' : 'start', { [operation]: true }),
    onSettled: () => client.invalidateQueries({ queryKey: ['queues'] }),
  });
  return (
    <>
      <Switch
        label={`${operation === 'enqueue' ? 'Enqueue' : 'Dequeue'} of ${queue.name}`}
        isOn={isOn}
        disabled={change.isPending}
        onChange={() => change.mutate()}
      >
        {isOn ? 'On' : 'Stopped'}
      </Switch>
      {change.error === null ? null : <ErrorNotice error={change.error} />}
    </>
  );
}

function kindInWords({ kind, type }: QueueInfo): string {
  if (type === 'queue') return kind;
  return kind === 'sharded' ? 'topic' : `${kind} topic`;
}
