/** The hosts of all instances at this moment, read from the catalog and the leases without asking any process. */
import type { InstanceId } from '../model/ids.ts';
import type { LeaseFile } from '../storage/catalog/lease-file.ts';
import type { Host, Membership } from '../storage/catalog/membership.ts';
import type { InstanceTopology } from './cluster.ts';
import type { ClusterPorts } from './processes.ts';

/** The instance's own process, if the caller started it. */
type InstanceProcess = NonNullable<InstanceTopology['process']>;

export interface TopologySources {
  membership: Membership;
  leaseFile: LeaseFile;
  ports: Pick<ClusterPorts, 'machineClock' | 'processes'>;
  /** The processes that the caller supervises, by instance. */
  processes?: ReadonlyMap<InstanceId, InstanceProcess>;
}

const noProcesses: ReadonlyMap<InstanceId, InstanceProcess> = new Map();

export function readTopology({
  membership,
  leaseFile,
  ports,
  processes = noProcesses,
}: TopologySources): Omit<InstanceTopology, 'restart'>[] {
  const hosts = new Map(membership.hosts().map((host) => [host.instance, host]));
  const heartbeats = new Map(leaseFile.read().map((heartbeat) => [heartbeat.claim, heartbeat]));
  const nowMs = ports.machineClock.nowMs();
  const instanceOfPid = new Map([...processes].map(([instance, { pid }]) => [pid, instance]));
  return membership.members().map(({ instance, leaving }) => {
    const host = hosts.get(instance);
    const heartbeat = host && heartbeats.get(host.claim);
    const expiresInMs = heartbeat === undefined ? 0 : Math.max(0, heartbeat.expiresAtMs - nowMs);
    const isAlive = host !== undefined && ports.processes.mayBeAlive(host.pid);
    return {
      instance,
      leaving,
      state: isAlive ? instanceState(host, heartbeat?.epoch ? expiresInMs : 0) : 'down',
      process: processes.get(instance) ?? null,
      host: host === undefined ? null : { pid: host.pid, instance: instanceOfPid.get(host.pid) ?? null },
      epoch: heartbeat?.epoch ?? 0,
      lease: host === undefined ? null : { claim: host.claim, expiresInMs },
    };
  });
}

function instanceState(host: Host, expiresInMs: number): InstanceTopology['state'] {
  if (host.role === 'embedded') return 'up';
  if (expiresInMs === 0) return 'down';
  return host.role === 'owner' ? 'up' : 'failed-over';
}
