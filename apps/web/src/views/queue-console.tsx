import type { QueueInfo } from '@shardlab/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { conversionQuery, subscribersQuery } from '../api/queries.ts';
import { formatMs, plural } from '../model/format.ts';
import { QueueBrowse } from './queue-browse.tsx';
import { QueueConversion } from './queue-conversion.tsx';
import { QueueConvert } from './queue-convert.tsx';
import { QueueDequeue } from './queue-dequeue.tsx';
import { QueueDrop } from './queue-drop.tsx';
import { QueueEnqueue } from './queue-enqueue.tsx';
import { QueueMonitor } from './queue-monitor.tsx';
import { QueueSubscribers } from './queue-subscribers.tsx';
import { Tabs } from './tabs.tsx';

/** One queue or topic: put messages in, take them out, look at what waits and why and how it is doing, drop it. */
export function QueueConsole({ queue, queues }: { queue: QueueInfo; queues: readonly QueueInfo[] }) {
  const navigate = useNavigate();
  const { tab, ...search } = useSearch({ from: '/queues' });
  const conversion = useQuery(conversionQuery(queue)).data?.conversion ?? null;
  const isConverting = conversion !== null && conversion.stage !== 'done';
  return (
    <section
      className="section queue-console"
      aria-label={`${queue.type === 'topic' ? 'Topic' : 'Queue'} ${queue.name}`}
    >
      <div className="section-head">
        <h2>{queue.name}</h2>
        <div className="row">
          {queue.kind === 'unsharded' && conversion === null ? <QueueConvert queue={queue} /> : null}
          {isConverting ? null : <QueueDrop queue={queue} />}
        </div>
      </div>
      {conversion === null ? null : <QueueConversion conversion={conversion} queue={queue} />}
      <QueueFacts queue={queue} queues={queues} />
      <Tabs<'messages' | 'monitor'>
        label={`Of ${queue.name}`}
        selected={tab ?? 'messages'}
        onSelect={(id) =>
          navigate({
            to: '/queues',
            search: id === 'monitor' ? { ...search, tab: id } : search,
            resetScroll: false,
          })
        }
        tabs={[
          { id: 'messages', label: 'Messages', content: () => <QueueMessages queue={queue} /> },
          { id: 'monitor', label: 'Monitor', content: () => <QueueMonitor queue={queue.name} /> },
        ]}
      />
    </section>
  );
}

function QueueMessages({ queue }: { queue: QueueInfo }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const search = useSearch({ from: '/queues' });
  const refresh = () => client.invalidateQueries({ queryKey: ['queues'] });
  const isTopic = queue.type === 'topic';
  const { data } = useQuery({ ...subscribersQuery(queue.name), enabled: isTopic });
  const subscribers = isTopic ? (data?.subscribers ?? []) : [];
  const names = subscribers.map(({ name }) => name);
  const chosen = names.find((name) => name === search.subscriber) ?? names[0];
  const canTake = !isTopic || chosen !== undefined;
  return (
    <div className="section">
      {isTopic && data !== undefined ? (
        <QueueSubscribers
          topic={queue.name}
          subscribers={subscribers}
          chosen={chosen}
          onChoose={(subscriber) =>
            navigate({ to: '/queues', search: { queue: queue.name, subscriber }, resetScroll: false })
          }
          onDone={refresh}
        />
      ) : null}
      <div className="split split-even">
        <QueueEnqueue queue={queue} subscribers={names} onDone={refresh} />
        {canTake ? <QueueDequeue key={chosen} queue={queue} subscriber={chosen} onDone={refresh} /> : null}
      </div>
      {canTake ? <QueueBrowse queue={queue} subscriber={chosen} /> : null}
    </div>
  );
}

/** What the queue does with messages that come back, and where they go in the end; links both ways. */
function QueueFacts({ queue, queues }: { queue: QueueInfo; queues: readonly QueueInfo[] }) {
  const { attemptsMax, retryDelayMs, exceptionQueue, priorities, correlationIndex } = queue;
  const source = queues.find((each) => each.exceptionQueue === queue.name);
  const exceptions = queues.find(({ name }) => name === exceptionQueue);
  return (
    <div className="lead small">
      {priorities ? <p>The most urgent goes first, then in order.</p> : null}
      {correlationIndex ? <p>Its partitions have an index of correlation ids.</p> : null}
      {retryDelayMs > 0 ? (
        <p>A message that comes back pauses for {formatMs(retryDelayMs)}, twice as long each time.</p>
      ) : null}
      {attemptsMax !== null && exceptions !== undefined ? (
        <p>
          A message that is handed out {times(attemptsMax)} without being consumed moves to{' '}
          <QueueLink name={exceptions.name} />, which has{' '}
          {plural(exceptions.ready + exceptions.held, 'message')}.
        </p>
      ) : null}
      {source === undefined ? null : (
        <p>
          The exception queue of <QueueLink name={source.name} />: what was handed out there{' '}
          {times(source.attemptsMax ?? 0)} without being consumed.
        </p>
      )}
    </div>
  );
}

const times = (count: number): string => (count === 1 ? 'once' : plural(count, 'time'));

function QueueLink({ name }: { name: string }) {
  return (
    <Link to="/queues" search={{ queue: name }}>
      {name}
    </Link>
  );
}
