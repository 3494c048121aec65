/** The hosts of all instances at this moment, read from the catalog and the leases without asking any process. */
import { limits } from '../api/limits.ts';
import type { Heartbeat } from '../model/failure-detector.ts';
import type { Epoch, InstanceId } from '../model/ids.ts';
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
  const leases = leaseFile.read();
  const hostings = new Map(leases.hostings.map((hosting) => [hosting.claim, hosting]));
  const heartbeats = new Map(leases.heartbeats.map((heartbeat) => [heartbeat.pid, heartbeat]));
  const nowMs = ports.machineClock.nowMs();
  const instanceOfPid = new Map([...processes].map(([instance, { pid }]) => [pid, instance]));
  return membership.members().map(({ instance, leaving }) => {
    const host = hosts.get(instance);
    const epoch = (host && hostings.get(host.claim)?.epoch) ?? 0;
    const heartbeat = host && heartbeats.get(host.pid);
    const expiresInMs = heartbeat === undefined ? 0 : Math.max(0, heartbeat.expiresAtMs - nowMs);
    return {
      instance,
      leaving,
      state: host === undefined ? 'down' : stateOf(host, epoch, ports),
      process: processes.get(instance) ?? null,
      host:
        host === undefined
          ? null
          : {
              pid: host.pid,
              instance: instanceOfPid.get(host.pid) ?? null,
              unresponsiveMs: host.role === 'embedded' ? null : unresponsiveMsOf(heartbeat, nowMs),
            },
      epoch,
      lease: host === undefined ? null : { claim: host.claim, expiresInMs },
    };
  });
}

function stateOf(
  host: Host,
  epoch: Epoch,
  { processes }: TopologySources['ports'],
): InstanceTopology['state'] {
  if (!processes.mayBeAlive(host.pid)) return 'down';
  if (host.role === 'embedded') return 'up';
  if (epoch === 0) return 'down';
  return host.role === 'owner' ? 'up' : 'failed-over';
}

/** Null if a turn of the event loop is known within a lease. */
function unresponsiveMsOf(heartbeat: Heartbeat | undefined, nowMs: number): number | null {
  if (heartbeat === undefined) return null; // it has begun a moment ago
  const silentMs = Math.max(0, nowMs - (heartbeat.expiresAtMs - limits.leaseMs));
  const unresponsiveMs = silentMs + heartbeat.turnlessMs;
  return unresponsiveMs < limits.leaseMs ? null : unresponsiveMs;
}
