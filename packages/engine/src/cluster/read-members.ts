import { limits } from '../api/limits.ts';
import { assertName } from '../model/call-arguments.ts';
import type { InstanceId } from '../model/ids.ts';
import { nodePorts } from '../node-ports.ts';
import { Membership } from '../storage/catalog/membership.ts';

/** The instances of the cluster in a folder, leaving ones included; empty if no cluster was started in it. */
export function readMembers(dir: string): InstanceId[] {
  assertName('dir', dir);
  const { processes } = nodePorts;
  const membership = new Membership(dir, { busyMs: limits.catalogBusyMsMax, processes });
  try {
    return membership.members().map(({ instance }) => instance);
  } finally {
    membership.close();
  }
}
