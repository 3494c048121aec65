/** The singleton services of the cluster behind the queue API, as the wire shows them. */
import type { CallOfService, ServiceState } from '@shardlab/contract';
import type { Json, ServiceInfo, ServiceSpec } from '@shardlab/engine';
import type { ClusterService } from './cluster-service.ts';

/** One entry for each service that is configured, whether its instance answers or not. */
export async function describeServices(cluster: ClusterService): Promise<ServiceState[]> {
  if (cluster.services.length === 0) return [];
  const reported = await cluster.queues.services();
  return cluster.services.map((spec) =>
    toState(
      spec,
      reported.find(({ name }) => name === spec.name),
    ),
  );
}

export function callService(
  cluster: ClusterService,
  name: string,
  { call, argument }: CallOfService,
): Promise<Json> {
  return cluster.queues.callService(name, call, (argument ?? null) as Json);
}

function toState({ name, preferred = 1, module }: ServiceSpec, info: ServiceInfo | undefined): ServiceState {
  return {
    name,
    preferred,
    module: module === 'timer' || module === 'folder-poller' ? module : 'module',
    status: info?.status ?? 'unreachable',
    holder: info?.holder ?? null,
    epoch: info?.epoch ?? null,
    sinceMs: info?.sinceMs ?? null,
    calls: info?.calls ?? [],
    failure: info?.failure ?? null,
    history: info?.history ?? [],
  };
}
