import type { QueueInfo } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { queuesQuery } from '../api/queries.ts';
import { Answered } from './page-states.tsx';
import { QueueConsole } from './queue-console.tsx';
import { QueueCreate } from './queue-create.tsx';
import { QueueTable } from './queue-table.tsx';
import { useTitle } from './use-title.ts';

/** A small console over the persistent queues of this server. */
export function QueuesPage() {
  useTitle('Queues');
  const queues = useQuery(queuesQuery);
  const { queue: chosen } = useSearch({ from: '/queues' });
  return (
    <>
      <header className="page-head">
        <h1>Queues</h1>
        <p className="lead">
          The queues that this server keeps, on the same engine that the lab measures; a program reaches them
          over the <a href="/docs">API</a>.
        </p>
      </header>
      <div className="queue-grid">
        <Answered query={queues} what="queues">
          {(data) => (
            <div className="section">
              <QueueTable queues={data.queues} chosen={chosen ?? null} />
              <ChosenQueue name={chosen} queues={data.queues} />
            </div>
          )}
        </Answered>
        <QueueCreate />
      </div>
    </>
  );
}

function ChosenQueue({ name, queues }: { name: string | undefined; queues: readonly QueueInfo[] }) {
  if (name === undefined) return null;
  const queue = queues.find((each) => each.name === name);
  if (queue !== undefined) return <QueueConsole key={name} queue={queue} queues={queues} />;
  return (
    <p className="notice">
      <span>
        There is no queue “{name}”. <Link to="/queues">Show all queues</Link>
      </span>
    </p>
  );
}
