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
    const process = processes.get(instance) ?? null;
    if (host === undefined) {
      return { instance, leaving, state: 'down', process, host: null, epoch: 0, lease: null };
    }
    const { pid, claim } = host;
    const epoch = hostings.get(claim)?.epoch ?? 0;
    const heartbeat = heartbeats.get(pid);
    const unresponsiveMs = host.role === 'embedded' ? null : unresponsiveMsOf(heartbeat, nowMs);
    // Of a process that has just given a sign of life the cheaper question is enough.
    const isAlive = unresponsiveMs === null ? ports.processes.mayBeAlive(pid) : ports.processes.isAlive(host);
    return {
      instance,
      leaving,
      state: isAlive ? stateOf(host, epoch) : 'down',
      process,
      host: { pid, instance: instanceOfPid.get(pid) ?? null, unresponsiveMs },
      epoch,
      lease: { claim, expiresInMs: Math.max(0, (heartbeat?.expiresAtMs ?? nowMs) - nowMs) },
    };
  });
}

function stateOf({ role }: Host, epoch: Epoch): InstanceTopology['state'] {
  if (role === 'embedded') return 'up';
  if (epoch === 0) return 'down';
  return role === 'owner' ? 'up' : 'failed-over';
}

/** Null if a turn of the event loop is known within a lease. */
function unresponsiveMsOf(heartbeat: Heartbeat | undefined, nowMs: number): number | null {
  if (heartbeat === undefined) return null; // it has begun a moment ago
  const silentMs = Math.max(0, nowMs - (heartbeat.expiresAtMs - limits.leaseMs));
  const unresponsiveMs = silentMs + heartbeat.turnlessMs;
  return unresponsiveMs < limits.leaseMs ? null : unresponsiveMs;
}
