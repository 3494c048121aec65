import type { QueueInfo } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { queuesQuery } from '../../api/queries.ts';
import { QueryResult } from '../../parts/query-states.tsx';
import { useTitle } from '../../parts/use-title.ts';
import { CreateQueueForm } from './create-queue-form.tsx';
import { QueueConsole } from './queue-console.tsx';
import { QueueTable } from './queue-table.tsx';
import { StoreName, StorePromises } from './store-promises.tsx';

/** A console for the queues of this server. */
export function QueuesPage() {
  useTitle('Queues');
  const queues = useQuery(queuesQuery);
  const { queue: chosen } = useSearch({ from: '/queues' });
  return (
    <>
      <header className="page-head">
        <h1>Queues</h1>
        <p className="lead">
          The queues of this server. They run on <StoreName />, and programs use them through the{' '}
          <Link to="/docs">API</Link>.
        </p>
      </header>
      <div className="queue-grid">
        <QueryResult query={queues} name="queues">
          {(data) => (
            <div className="section">
              <QueueTable queues={data.queues} chosen={chosen ?? null} />
              <ChosenQueue name={chosen} queues={data.queues} />
              <StorePromises />
            </div>
          )}
        </QueryResult>
        <CreateQueueForm />
      </div>
    </>
  );
}

function ChosenQueue({ name, queues }: { name: string | undefined; queues: readonly QueueInfo[] }) {
  if (name === undefined) return null;
  const queue = queues.find((candidate) => candidate.name === name);
  if (queue !== undefined) return <QueueConsole key={name} queue={queue} queues={queues} />;
  return (
    <p className="notice">
      <span>
        There is no queue “{name}”. <Link to="/queues">Show all queues</Link>
      </span>
    </p>
  );
}
