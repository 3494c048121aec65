import type { QueueInfo } from '@shardlab/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { switchQueue } from '../api/queries.ts';
import { formatCount } from '../model/format.ts';
import { withExceptionQueues } from '../model/queue-order.ts';
import { Failure } from './page-states.tsx';
import { ScrollX } from './scroll-x.tsx';
import { Switch } from './switch.tsx';

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
              Delayed
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
          {withExceptionQueues(queues).map(({ queue, isException }) => (
            <tr key={queue.name} data-selected={queue.name === chosen ? '' : undefined}>
              <th scope="row" className={isException ? 'queue-exceptions' : undefined}>
                <Link to="/queues" search={{ queue: queue.name }}>
                  {queue.name}
                </Link>
              </th>
              <td className="small">
                {queue.type === 'topic' ? 'topic' : queue.kind}, {queue.durability}
              </td>
              <td className="number">{formatCount(queue.ready)}</td>
              <td className="number">{formatCount(queue.held)}</td>
              <td className="number">{formatCount(queue.delayed)}</td>
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
    <>
      <Switch
        label={`${half === 'enqueue' ? 'Enqueue' : 'Dequeue'} of ${queue.name}`}
        isOn={isOn}
        disabled={change.isPending}
        onChange={() => change.mutate()}
      >
        {isOn ? 'On' : 'Stopped'}
      </Switch>
      {change.error === null ? null : <Failure error={change.error} />}
    </>
  );
}
