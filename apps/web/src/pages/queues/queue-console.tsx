import type { QueueInfo } from '@shardlab/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { conversionQuery, storeQuery, subscribersQuery } from '../../api/queries.ts';
import { formatDuration, formatMs, plural } from '../../model/format.ts';
import { hasFeature } from '../../model/store-support.ts';
import { Tabs } from '../../parts/tabs.tsx';
import { ConversionProgress } from './conversion-progress.tsx';
import { ConvertQueueDialog } from './convert-queue-dialog.tsx';
import { DequeueForm } from './dequeue-form.tsx';
import { DropQueueDialog } from './drop-queue-dialog.tsx';
import { EnqueueForm } from './enqueue-form.tsx';
import { MessageBrowser } from './message-browser.tsx';
import { QueueMonitor } from './queue-monitor.tsx';
import { QueueTraces } from './queue-traces.tsx';
import { RedriveDialog } from './redrive-dialog.tsx';
import { TopicSubscribers } from './topic-subscribers.tsx';
import { useIsTraced } from './use-is-traced.ts';

/** One queue or topic: enqueue, dequeue, browse, monitor, convert, drop. */
export function QueueConsole({ queue, queues }: { queue: QueueInfo; queues: readonly QueueInfo[] }) {
  const navigate = useNavigate();
  const { tab, message: _, ...search } = useSearch({ from: '/queues' });
  const conversion = useQuery(conversionQuery(queue)).data?.conversion ?? null;
  const isTraced = useIsTraced(queue);
  const isConverting = conversion !== null && conversion.stage !== 'done';
  return (
    <section
      className="section queue-console"
      aria-label={`${queue.type === 'topic' ? 'Topic' : 'Queue'} ${queue.name}`}
    >
      <div className="section-head">
        <h2>{queue.name}</h2>
        <div className="row">
          {queue.kind === 'unsharded' && queue.type === 'queue' && conversion === null ? (
            <ConvertQueueDialog queue={queue} />
          ) : null}
          {isConverting ? null : <DropQueueDialog queue={queue} />}
        </div>
      </div>
      {conversion === null ? null : <ConversionProgress conversion={conversion} queue={queue} />}
      <QueueFacts queue={queue} queues={queues} />
      <Tabs<'messages' | 'monitor' | 'trace'>
        label={`Views of ${queue.name}`}
        selected={tab === undefined || (tab === 'trace' && !isTraced) ? 'messages' : tab}
        onSelect={(id) =>
          navigate({
            to: '/queues',
            search: id === 'messages' ? search : { ...search, tab: id },
            resetScroll: false,
          })
        }
        tabs={[
          { id: 'messages', label: 'Messages', content: () => <QueueMessages queue={queue} /> },
          { id: 'monitor', label: 'Monitor', content: () => <QueueMonitor queue={queue.name} /> },
          ...(isTraced
            ? [{ id: 'trace' as const, label: 'Trace', content: () => <QueueTraces queue={queue} /> }]
            : []),
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
  const { data: store } = useQuery(storeQuery);
  const isTopic = queue.type === 'topic';
  const { data } = useQuery({ ...subscribersQuery(queue.name), enabled: isTopic });
  const subscribers = isTopic ? (data?.subscribers ?? []) : [];
  const names = subscribers.map(({ name }) => name);
  const selected = names.find((name) => name === search.subscriber) ?? names[0];
  const canDequeue = !isTopic || selected !== undefined;
  return (
    <div className="section">
      {isTopic && data !== undefined ? (
        <TopicSubscribers
          topic={queue.name}
          subscribers={subscribers}
          selected={selected}
          onSelect={(subscriber) =>
            navigate({ to: '/queues', search: { queue: queue.name, subscriber }, resetScroll: false })
          }
          onDone={refresh}
        />
      ) : null}
      <div className="split split-even">
        <EnqueueForm queue={queue} subscribers={names} onDone={refresh} />
        {canDequeue ? (
          <DequeueForm key={selected} queue={queue} subscriber={selected} onDone={refresh} />
        ) : null}
      </div>
      {canDequeue && (!isTopic || hasFeature(store, 'browseTopics')) ? (
        <MessageBrowser queue={queue} subscriber={selected} />
      ) : null}
    </div>
  );
}

const reasonsToMove = ({ attemptsMax }: QueueInfo): string =>
  attemptsMax === null
    ? 'messages that were rejected there'
    : `messages that were rejected there, or delivered ${times(attemptsMax)} without being consumed`;

/** How the queue orders, retries and gives up on messages, with links between a queue and its exception queue. */
function QueueFacts({ queue, queues }: { queue: QueueInfo; queues: readonly QueueInfo[] }) {
  const {
    attemptsMax,
    attemptsCounted,
    retryDelayMs,
    retentionMs,
    exceptionQueue,
    priorities,
    correlationIndex,
  } = queue;
  const { visibility, messagesMax, refused } = queue;
  const { data: store } = useQuery(storeQuery);
  const movesBack = hasFeature(store, 'consumeAndEnqueue');
  const source = queues.find((candidate) => candidate.exceptionQueue === queue.name);
  const exceptions = queues.find(({ name }) => name === exceptionQueue);
  return (
    <div className="lead small">
      {priorities ? <p>Messages are delivered by priority, then in enqueue order.</p> : null}
      {visibility === 'immediate' ? (
        <p>
          Buffered: messages are in memory only, and visible at once. Past{' '}
          {plural(messagesMax ?? 0, 'undelivered message')} on an instance it refuses more; {refused} refused
          so far.
        </p>
      ) : null}
      {correlationIndex ? <p>Correlation ids are indexed.</p> : null}
      {retentionMs > 0 ? <p>Consumed messages are kept for at least {formatDuration(retentionMs)}.</p> : null}
      {retryDelayMs > 0 ? (
        <p>A returned message is delayed by {formatMs(retryDelayMs)}, twice as long after each attempt.</p>
      ) : null}
      {attemptsMax === null ? null : (
        <p>
          A message that is delivered {times(attemptsMax)} without being consumed moves to{' '}
          {exceptions === undefined ? (
            'its exception queue, which is created then.'
          ) : (
            <>
              <QueueLink name={exceptions.name} />, which has{' '}
              {plural(exceptions.ready + exceptions.held, 'message')}.
            </>
          )}
          {attemptsCounted === 'on-delivery' ? ' Each delivery is counted before it is handed over.' : null}
        </p>
      )}
      {source === undefined ? null : (
        <>
          <p>
            Exception queue of <QueueLink name={source.name} />: {reasonsToMove(source)}.
          </p>
          {source.type === 'queue' && movesBack ? <RedriveDialog exceptions={queue} source={source} /> : null}
        </>
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
