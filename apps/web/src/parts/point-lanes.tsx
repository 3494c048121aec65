import type { Run, Swimlane } from '@shardlab/contract';
import { useMemo } from 'react';
import { serviceLanes } from '../model/swimlanes.ts';
import { Herd } from './herd.tsx';
import { ServiceOwners } from './service-owners.tsx';

/**
 * The lanes of a point: which sessions woke for a message, or which instance had a service. `place` names the point if it is not
 * obvious.
 */
export function PointLanes(props: { run: Run; swimlanes: readonly Swimlane[]; place?: string }) {
  const { run, swimlanes, place = '' } = props;
  const owners = useMemo(() => serviceLanes(swimlanes), [swimlanes]);
  return owners === null ? (
    <Herd run={run} swimlanes={swimlanes} place={place} />
  ) : (
    <ServiceOwners run={run} lanes={owners} place={place} />
  );
}
