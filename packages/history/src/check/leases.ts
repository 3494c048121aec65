/** A lease has at most one holder at any time. */
import type { Lease } from '../record/operation.ts';
import type { Facts } from './facts.ts';
import type { Violation } from './violation.ts';

export function checkLeases({ leases }: Facts, report: (violation: Violation) => void): void {
  const byResource = Map.groupBy(leases, ({ resource }) => resource);
  for (const [resource, ofResource] of byResource) {
    let holder: Lease | undefined;
    for (const lease of ofResource) {
      if (lease.outcome === 'fail') continue;
      if (holder !== undefined && lease.start < certainEnd(holder)) {
        const sentence = `${resource} was held by ${holder.process} and by ${lease.process} at the same time`;
        report({ kind: 'exclusion', sentence, operations: [holder, lease] });
      }
      if (holder === undefined || certainEnd(lease) > certainEnd(holder)) holder = lease;
    }
  }
}

/** A holder that was killed is known to have held the lease when it got it. */
function certainEnd({ start, end }: Lease): number {
  return Number.isFinite(end) ? end : start;
}
