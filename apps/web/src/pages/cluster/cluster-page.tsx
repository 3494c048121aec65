import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, useSyncExternalStore } from 'react';
import { ClusterStream } from '../../api/cluster-stream.ts';
import { resizeCluster } from '../../api/queries.ts';
import { type FollowedCluster, instanceProcesses } from '../../model/cluster-state.ts';
import { plural } from '../../model/format.ts';
import { ErrorNotice, Loading } from '../../parts/query-states.tsx';
import { useTitle } from '../../parts/use-title.ts';
import { EventLog } from './event-log.tsx';
import { LoadPanel } from './load-panel.tsx';
import { ProcessCard } from './process-card.tsx';
import { Services } from './services.tsx';

/** The cluster that serves the queues: kill and start its processes, and watch the effect on the messages. */
export function ClusterPage() {
  useTitle('Cluster');
  const [stream] = useState(() => new ClusterStream());
  const followed = useSyncExternalStore(stream.subscribe, stream.getState);
  return (
    <>
      <header className="page-head">
        <h1>Cluster</h1>
        <p className="lead">
          The instances that serve the queues of this server. With two or more, each instance runs in its own
          process. Kill a process, and another one hosts its instance until it is started again; one that ends
          by itself is restarted, and so is one that was killed when no other is left. No acknowledged message
          is lost, and none is delivered again after its consumption was acknowledged.
        </p>
      </header>
      {followed === null ? <Loading name="the cluster" /> : <ClusterView followed={followed} />}
    </>
  );
}

function ClusterView({ followed }: { followed: FollowedCluster }) {
  const { cluster, load } = followed;
  return (
    <>
      <LoadPanel load={load} events={cluster.events} hasProcesses={cluster.placement === 'processes'} />
      <Processes followed={followed} />
      <Services events={cluster.events} nowMs={followed.atMs} />
      <EventLog events={cluster.events} instances={cluster.instances} />
    </>
  );
}

/** Age at which the counters of the cluster are called out of date. */
const staleMs = 1_500;

function Processes({ followed }: { followed: FollowedCluster }) {
  const { cluster, rates, cores, atMs, metricsAtMs } = followed;
  const remaining = cluster.instances.filter(({ leaving }) => !leaving);
  const resize = useMutation({ mutationFn: resizeCluster });
  const removable = cluster.placement === 'processes' ? remaining.at(-1)?.instance : undefined;
  const canRemove = remaining.length > 1;
  return (
    <section className="section" aria-labelledby="processes">
      <div className="section-head">
        <h2 id="processes">{plural(cluster.instances.length, 'instance')}</h2>
        {cluster.placement === 'store' ? null : (
          <button
            type="button"
            className="button"
            disabled={resize.isPending}
            onClick={() => resize.mutate(remaining.length + 1)}
          >
            {resize.isPending ? 'Changing…' : 'Add an instance'}
          </button>
        )}
      </div>
      {resize.error === null ? null : <ErrorNotice error={resize.error} />}
      {cluster.placement === 'store' ? (
        <p className="notice">
          <span>
            The queues are on the servers of a NATS cluster, so this server has no instances. What that store
            promises is shown with the <Link to="/queues">queues</Link>.
          </span>
        </p>
      ) : null}
      {cluster.placement === 'local' ? (
        <p className="notice">
          The only instance runs inside the server, so there is no process to kill. Add an instance: from two
          on, each runs in its own process.
        </p>
      ) : null}
      <div className="cluster-grid">
        {instanceProcesses(cluster).map((entry) => (
          <ProcessCard
            key={entry.owner.instance}
            entry={entry}
            placement={cluster.placement}
            rates={rates}
            cores={cores}
            onRemove={
              canRemove && entry.owner.instance === removable
                ? () => resize.mutate(remaining.length - 1)
                : undefined
            }
          />
        ))}
      </div>
      <p className="small muted" role="status">
        {atMs - metricsAtMs > staleMs
          ? 'A process does not respond: the rates and CPU usage shown are out of date.'
          : ''}
      </p>
    </section>
  );
}
