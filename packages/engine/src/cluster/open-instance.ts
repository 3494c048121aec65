/** Opens one instance in this process, for a program that has it to itself: the embedded library. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { Membership } from '../storage/membership.ts';
import type { Instance, InstanceOptions } from '../types.ts';
import { assembleInstance } from './assemble-instance.ts';

/**
 * Opens or makes an instance; recovers what an earlier process left. Returns once it serves. Others are kept out as long
 * as this process lives, whatever it does: a program that is stopped in a debugger does not lose its queue.
 * Throws `INSTANCE_IN_USE`, `STORAGE_FORMAT_NEWER`, `STORAGE_READ_ONLY`, `STORAGE_CORRUPT`, `OPTIONS_INVALID`.
 */
export async function openInstance(options: InstanceOptions): Promise<Instance> {
  const id = options.instance ?? 1;
  if (!Number.isInteger(id) || id < 1 || id > limits.instancesMax) {
    throw new QueueError('OPTIONS_INVALID', { sentence: `instance must be 1 to ${limits.instancesMax}` });
  }
  const membership = new Membership(options.dir, { busyMs: limits.catalogBusyMs });
  let claim: number;
  try {
    claim = membership.claim(id, 'embedded');
  } catch (error) {
    membership.close();
    throw error;
  }
  const release = () => {
    membership.release(claim);
    membership.close();
  };
  try {
    return await assembleInstance(id, options, { onClosed: release });
  } catch (error) {
    release();
    throw error;
  }
}
