/** Claims a process's own instance when it starts; another process may host it at that moment. */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { ClaimNumber, InstanceId } from '../model/ids.ts';
import { pause } from '../model/pause.ts';
import type { Timers } from '../model/ports.ts';
import type { LeaseFile } from '../storage/catalog/lease-file.ts';
import type { Membership } from '../storage/catalog/membership.ts';
import { changeMembership } from './change-membership.ts';
import type { HostWatch } from './host-watch.ts';
import { killProcess } from './kill-process.ts';
import type { ClusterPorts } from './processes.ts';

export interface ClaimOwnInstanceOptions {
  instance: InstanceId;
  membership: Membership;
  leaseFile: LeaseFile;
  hostWatch: HostWatch;
  ports: ClusterPorts;
}

/**
 * Resolves with the claim. A failover host is asked to return the instance; a host that has failed is killed; a host
 * that is ending is waited for. Throws `INSTANCE_IN_USE` if the instance is still hosted after `failbackMsMax`.
 */
export async function claimOwnInstance({
  instance,
  membership,
  leaseFile,
  hostWatch,
  ports,
}: ClaimOwnInstanceOptions): Promise<ClaimNumber> {
  const { machineClock, timers, processes } = ports;
  const untilMs = machineClock.nowMs() + limits.failbackMsMax;
  let recalled: ClaimNumber | undefined;
  for (;;) {
    const host = membership.host(instance);
    hostWatch.observe(host === undefined ? [] : [host], leaseFile.read());
    if (host?.pid === processes.self.pid && processes.isAlive(host)) return host.claim; // it was returned
    if (host === undefined || !processes.isAlive(host)) {
      const claim = await tryClaim(membership, timers, instance);
      if (claim !== undefined) return claim;
      continue;
    }
    if (host.role === 'embedded' || machineClock.nowMs() > untilMs) {
      throw new QueueError('INSTANCE_IN_USE', {
        message: `Instance ${instance} is hosted by process ${host.pid}`,
        details: { instance, pid: host.pid },
      });
    }
    if (hostWatch.lossOf(host) !== undefined) await killProcess(host, ports);
    else if (host.role === 'failover' && recalled !== host.claim) {
      await changeMembership(timers, () => membership.requestReturn(host.claim));
      recalled = host.claim;
    }
    await pause(timers, limits.leaseCheckMs / 2);
  }
}

/** Undefined if another process was faster. */
async function tryClaim(
  membership: Membership,
  timers: Timers,
  instance: InstanceId,
): Promise<ClaimNumber | undefined> {
  try {
    return await changeMembership(timers, () => membership.claim(instance, 'owner'));
  } catch (error) {
    if (error instanceof QueueError && error.code === 'INSTANCE_IN_USE') return undefined;
    throw error;
  }
}
