/** A process of a cluster comes (back) for its own instance, which another one may host meanwhile. */
import { setTimeout as pause } from 'node:timers/promises';
import { QueueError } from '../core/errors.ts';
import type { LeaseWatch } from '../core/lease-watch.ts';
import { limits } from '../core/limits.ts';
import type { LeaseFile } from '../storage/lease-file.ts';
import type { Membership } from '../storage/membership.ts';
import { isAlive } from '../storage/process-identity.ts';
import { changeMembership } from './change-membership.ts';
import { endProcess } from './end-process.ts';
import { monotonicMs } from './monotonic-clock.ts';

export interface ClaimHomeOptions {
  instance: number;
  membership: Membership;
  leases: LeaseFile;
  watch: LeaseWatch;
}

/**
 * Resolves with the claim. A guest is recalled and waited for; a process that had the instance and has stopped is ended;
 * one that is about to end is waited for. Throws `INSTANCE_IN_USE` if the instance is not free after all that.
 */
export async function claimHome({ instance, membership, leases, watch }: ClaimHomeOptions): Promise<number> {
  const untilMs = monotonicMs() + limits.recallMsMax;
  let recalled: number | undefined;
  for (;;) {
    const nowMs = monotonicMs(); // before the signs are read
    const host = membership.host(instance);
    watch.look(nowMs, host === undefined ? [] : [host], leases.read());
    if (host?.pid === process.pid && isAlive(host)) return host.claim; // just given back
    if (host === undefined || !isAlive(host)) {
      const claim = await tryClaim(membership, instance);
      if (claim !== undefined) return claim;
      continue;
    }
    if (host.role === 'embedded' || nowMs > untilMs) {
      throw new QueueError('INSTANCE_IN_USE', {
        sentence: `Instance ${instance} is hosted by process ${host.pid}`,
        details: { instance, pid: host.pid },
      });
    }
    if (watch.lapsed(instance)) await endProcess(host);
    else if (host.role === 'guest' && recalled !== host.claim) {
      await changeMembership(() => membership.recall(host.claim));
      recalled = host.claim;
    }
    await pause(limits.leaseLookMs / 2);
  }
}

/** Undefined if another process was faster. */
async function tryClaim(membership: Membership, instance: number): Promise<number | undefined> {
  try {
    return await changeMembership(() => membership.claim(instance, 'home'));
  } catch (error) {
    if (error instanceof QueueError && error.code === 'INSTANCE_IN_USE') return undefined;
    throw error;
  }
}
