/** Opens an instance in this process, for a program that uses it alone: the embedded library. */

import { QueueError } from '../api/errors.ts';
import type { Instance, InstanceOptions } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import { assertFields, assertName } from '../model/call-arguments.ts';
import { instanceFields } from '../model/call-fields.ts';
import type { ClaimNumber, InstanceId } from '../model/ids.ts';
import type { Timer } from '../model/ports.ts';
import { validateServices } from '../model/validate-services.ts';
import { nodePorts } from '../node-ports.ts';
import { assertProgramsFound } from '../program-files.ts';
import { Membership } from '../storage/catalog/membership.ts';
import { assembleInstance } from './assemble-instance.ts';
import { validateInstanceOptions } from './validate-instance-options.ts';

/**
 * Opens or creates an instance and recovers what an earlier process left; returns once the instance is usable. Other
 * processes are kept out for as long as this one lives, even while it is stopped in a debugger.
 * Throws `INSTANCE_IN_USE`, `STORAGE_FORMAT_NEWER`, `STORAGE_READ_ONLY`, `STORAGE_CORRUPT`, `OPTIONS_INVALID`,
 * `PROGRAMS_NOT_FOUND`.
 */
export async function openInstance(options: InstanceOptions): Promise<Instance> {
  assertFields(options, instanceFields);
  assertName('dir', options.dir);
  const id = options.instance ?? 1;
  if (!Number.isInteger(id) || id < 1 || id > limits.instancesMax) {
    throw new QueueError('OPTIONS_INVALID', { message: `instance must be 1 to ${limits.instancesMax}` });
  }
  assertProgramsFound();
  validateInstanceOptions(options); // before the folder is made
  validateServices(options.services ?? []);
  const membership = new Membership(options.dir, {
    busyMs: limits.catalogBusyMsMax,
    processes: nodePorts.processes,
  });
  let claim: ClaimNumber;
  let claimTimer: Timer | undefined;
  try {
    claim = membership.claim(id, 'embedded');
  } catch (error) {
    membership.close();
    throw error;
  }
  const release = () => {
    claimTimer?.cancel();
    membership.releaseClaim(claim);
    membership.close();
  };
  try {
    const instance = await assembleInstance(id, options, { onClosed: release }, nodePorts);
    claimTimer = nodePorts.timers.every(limits.claimCheckMs, () => {
      if (holdsClaim(membership, id, claim)) return;
      instance.fence(fencedError(id, claim));
      void instance.close().catch(() => undefined); // the next host waits for the lock of the log
    });
    instance.startServices();
    return instance;
  } catch (error) {
    release();
    throw error;
  }
}

/** A process that held this one for dead, in another pid namespace for example, may have claimed the instance. */
function holdsClaim(membership: Membership, instance: InstanceId, claim: ClaimNumber): boolean {
  try {
    return membership.holdsClaim(instance, claim);
  } catch {
    return true; // the catalog cannot be read now: the next check decides
  }
}

function fencedError(instance: InstanceId, claim: ClaimNumber): QueueError {
  return new QueueError('INSTANCE_FENCED', { details: { instance, claim } });
}
