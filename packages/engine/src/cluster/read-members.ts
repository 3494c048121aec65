import { limits } from '../api/limits.ts';
import { nodePorts } from '../node-ports.ts';
import { Membership } from '../storage/catalog/membership.ts';

/** The instances of the cluster in a folder, leaving ones included; empty if no cluster was started in it. */
export function readMembers(dir: string): number[] {
  const { processes } = nodePorts;
  const membership = new Membership(dir, { busyMs: limits.catalogBusyMsMax, processes });
  try {
    return membership.members().map(({ instance }) => instance);
  } finally {
    membership.close();
  }
}
