import type { QueueInfo } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { switchQueue } from '../api/queries.ts';
import { formatCount } from '../model/format.ts';
import { Failure } from './page-states.tsx';
import { ScrollX } from './scroll-x.tsx';

/** All queues with their counts, and a switch for each half. */
export function QueueTable({ queues, chosen }: { queues: readonly QueueInfo[]; chosen: string | null }) {
  if (queues.length === 0) return <p className="empty">No queue yet. Create one here, or over the API.</p>;
  return (
    <ScrollX label="All queues" framed>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Queue</th>
            <th scope="col">Kind</th>
            <th scope="col" className="number">
              Ready
            </th>
            <th scope="col" className="number">
              Held
            </th>
            <th scope="col" className="number">
              Enqueued
            </th>
            <th scope="col" className="number">
              Consumed
            </th>
            <th scope="col">Enqueue</th>
            <th scope="col">Dequeue</th>
          </tr>
        </thead>
        <tbody>
          {queues.map((queue) => (
            <tr key={queue.name} data-selected={queue.name === chosen ? '' : undefined}>
              <th scope="row">
                <Link to="/queues" search={{ queue: queue.name }}>
                  {queue.name}
                </Link>
              </th>
              <td className="small">
                {queue.kind}, {queue.durability}
              </td>
              <td className="number">{formatCount(queue.ready)}</td>
              <td className="number">{formatCount(queue.held)}</td>
              <td className="number">{formatCount(queue.enqueued)}</td>
              <td className="number">{formatCount(queue.consumed)}</td>
              <td>
                <HalfSwitch queue={queue} half="enqueue" isOn={queue.enqueueEnabled} />
              </td>
              <td>
                <HalfSwitch queue={queue} half="dequeue" isOn={queue.dequeueEnabled} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function HalfSwitch(props: { queue: QueueInfo; half: 'enqueue' | 'dequeue'; isOn: boolean }) {
  const { queue, half, isOn } = props;
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: () => switchQueue(queue.name, isOn ? 'stop' : 'start', { [half]: true }),
    onSettled: () => client.invalidateQueries({ queryKey: ['queues'] }),
  });
  return (
    <span className="row queue-half">
      <span className="badge" data-tone={isOn ? 'good' : 'quiet'}>
        {isOn ? 'On' : 'Stopped'}
      </span>
      <button
        type="button"
        className="button button-quiet"
        aria-label={`${isOn ? 'Stop' : 'Start'} ${half} of ${queue.name}`}
        disabled={change.isPending}
        onClick={() => change.mutate()}
      >
        {isOn ? 'Stop' : 'Start'}
      </button>
      {change.error === null ? null : <Failure error={change.error} />}
    </span>
  );
}
