import { useMutation } from '@tanstack/react-query';
import { useState, useSyncExternalStore } from 'react';
import { ClusterStream } from '../api/cluster-stream.ts';
import { resizeCluster } from '../api/queries.ts';
import { type FollowedCluster, processPlaces } from '../model/cluster-state.ts';
import { plural } from '../model/format.ts';
import { ClusterEvents } from './cluster-events.tsx';
import { ClusterLoadPanel } from './cluster-load.tsx';
import { ClusterProcess } from './cluster-process.tsx';
import { Failure, Loading } from './page-states.tsx';
import { useTitle } from './use-title.ts';

/** The cluster behind the queues: kill and start its processes, and watch what becomes of the messages. */
export function ClusterPage() {
  useTitle('Cluster');
  const [stream] = useState(() => new ClusterStream());
  const { followed, connection } = useSyncExternalStore(stream.subscribe, stream.getState);
  return (
    <>
      <header className="page-head">
        <h1>Cluster</h1>
        <p className="lead">
          The instances behind the queues of this server. With two or more each has a process of its own: kill
          one, and a survivor hosts its instance until it is back. No acknowledged message is lost, and none
          comes twice after its consumption was acknowledged.
        </p>
      </header>
      {connection === 'lost' ? (
        <p className="notice" data-tone="bad" role="alert">
          The connection to the server is lost; this page tries again by itself.
        </p>
      ) : null}
      {followed === null ? <Loading what="the cluster" /> : <ClusterView followed={followed} />}
    </>
  );
}

function ClusterView({ followed }: { followed: FollowedCluster }) {
  const { cluster, load } = followed;
  return (
    <>
      <ClusterLoadPanel load={load} events={cluster.events} />
      <Processes followed={followed} />
      <ClusterEvents events={cluster.events} instances={cluster.instances} />
    </>
  );
}

/** Until figures are called old, milliseconds. */
const freshMs = 1_500;

function Processes({ followed }: { followed: FollowedCluster }) {
  const { cluster, rates, cores, atMs, figuresAtMs } = followed;
  const staying = cluster.instances.filter(({ leaving }) => !leaving);
  const resize = useMutation({ mutationFn: resizeCluster });
  const removable = cluster.placement === 'processes' ? staying.at(-1)?.instance : undefined;
  const canRemove = staying.length > 1;
  return (
    <section className="section" aria-labelledby="processes">
      <div className="section-head">
        <h2 id="processes">{plural(cluster.instances.length, 'instance')}</h2>
        <button
          type="button"
          className="button"
          disabled={resize.isPending}
          onClick={() => resize.mutate(staying.length + 1)}
        >
          {resize.isPending ? 'Changing…' : 'Add an instance'}
        </button>
      </div>
      {resize.error === null ? null : <Failure error={resize.error} />}
      {cluster.placement === 'inline' ? (
        <p className="notice">
          The one instance lives in the server itself, so there is no process to kill. Add an instance: from
          two on each has a process of its own.
        </p>
      ) : null}
      <div className="cluster-grid">
        {processPlaces(cluster).map((place) => (
          <ClusterProcess
            key={place.instance.instance}
            place={place}
            placement={cluster.placement}
            rates={rates}
            cores={cores}
            onRemove={
              canRemove && place.instance.instance === removable
                ? () => resize.mutate(staying.length - 1)
                : undefined
            }
          />
        ))}
      </div>
      <p className="small muted" role="status">
        {atMs - figuresAtMs > freshMs ? 'A process does not answer: rates and CPU are from before.' : ''}
      </p>
    </section>
  );
}
