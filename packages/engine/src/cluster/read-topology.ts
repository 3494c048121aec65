/** Who hosts what at this moment, read from the catalog and the leases: it needs no answer of any process. */
import type { LeaseFile } from '../storage/lease-file.ts';
import type { Host, Membership } from '../storage/membership.ts';
import { mayBeAlive } from '../storage/process-identity.ts';
import { monotonicMs } from './monotonic-clock.ts';
import type { InstanceTopology } from './supervisor/cluster.ts';

/** The instance's own process, as far as whoever asks started it. */
type OwnProcess = NonNullable<InstanceTopology['process']>;

export interface TopologySources {
  membership: Membership;
  leases: LeaseFile;
  /** Of whoever started them. */
  children?: ReadonlyMap<number, OwnProcess>;
}

const noChildren: ReadonlyMap<number, OwnProcess> = new Map();

export function readTopology({
  membership,
  leases,
  children = noChildren,
}: TopologySources): InstanceTopology[] {
  const hosts = new Map(membership.hosts().map((host) => [host.instance, host]));
  const signs = new Map(leases.read().map((sign) => [sign.claim, sign]));
  const nowMs = monotonicMs();
  const instanceOfPid = new Map([...children].map(([instance, { pid }]) => [pid, instance]));
  return membership.members().map(({ instance, leaving }) => {
    const host = hosts.get(instance);
    const sign = host && signs.get(host.claim);
    const own = children.get(instance);
    const expiresInMs = sign === undefined ? 0 : Math.max(0, sign.expiresAtMs - nowMs);
    return {
      instance,
      leaving,
      state: stateOf(host, sign?.epoch ? expiresInMs : 0),
      process: own === undefined ? null : { pid: own.pid, state: own.state },
      host: host === undefined ? null : { pid: host.pid, instance: instanceOfPid.get(host.pid) ?? null },
      epoch: sign?.epoch ?? 0,
      lease: host === undefined ? null : { claim: host.claim, expiresInMs },
    };
  });
}

function stateOf(host: Host | undefined, expiresInMs: number): InstanceTopology['state'] {
  if (host === undefined || !mayBeAlive(host.pid)) return 'down';
  if (host.role === 'embedded') return 'up';
  if (expiresInMs === 0) return 'down';
  return host.role === 'home' ? 'up' : 'hosted';
}
