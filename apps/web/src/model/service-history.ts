/** Which process had a singleton service when, from its activations and from the known ends of processes. */
import type { ClusterEvent, ServiceState, ServiceTenure } from '@shardlab/contract';
import { type Lane, type OwnershipPeriod, ownershipLanes } from './swimlanes.ts';

/** Activations that are shown: more would be too narrow to distinguish. */
const shownMax = 24;

export interface ServiceHistory {
  /** Epoch ms that the lanes count from. */
  fromMs: number;
  /** A lane for each instance whose process had the service, and one of gaps. Times are milliseconds. */
  lanes: Lane[];
  /** Number of the activations that are shown. */
  activations: number;
  gaps: number;
  longestGapMs: number;
}

/**
 * An activation without an end is under way, or its process was killed: then it ended with the process, if the cluster reported
 * that. Otherwise its end before the next activation is unknown, and no gap is counted. Null without activations.
 */
export function serviceHistory(
  { history, status }: Pick<ServiceState, 'history' | 'status'>,
  { events, nowMs }: { events: readonly ClusterEvent[]; nowMs: number },
): ServiceHistory | null {
  const shown = history.slice(-shownMax);
  const [first] = shown;
  if (first === undefined) return null;
  const fromMs = first.activatedAtMs;
  const periods = shown.map((tenure, index): OwnershipPeriod => {
    const next = shown[index + 1];
    const { endMs, ended } = endOf(tenure, { next, events, nowMs, isActive: status === 'active' });
    return {
      instance: tenure.host,
      epoch: tenure.epoch,
      fromMs: tenure.activatedAtMs - fromMs,
      toMs: Math.max(tenure.activatedAtMs, endMs) - fromMs,
      ended,
    };
  });
  const instances = [...new Set(shown.map(({ host }) => host))].toSorted((a, b) => a - b);
  const lanes = ownershipLanes(periods, instances);
  const gaps = lanes.at(-1)!.spans.map(({ from, to }) => to - from);
  return {
    fromMs,
    lanes,
    activations: shown.length,
    gaps: gaps.length,
    longestGapMs: Math.max(0, ...gaps),
  };
}

function endOf(
  { pid, activatedAtMs, deactivatedAtMs }: ServiceTenure,
  {
    next,
    events,
    nowMs,
    isActive,
  }: { next: ServiceTenure | undefined; events: readonly ClusterEvent[]; nowMs: number; isActive: boolean },
): { endMs: number; ended: string } {
  if (deactivatedAtMs !== null) return { endMs: deactivatedAtMs, ended: 'deactivated' };
  const limitMs = next?.activatedAtMs ?? nowMs;
  const end = events.find(
    (event) =>
      event.type === 'process:ended' &&
      event.pid === pid &&
      event.atMs >= activatedAtMs &&
      event.atMs <= limitMs,
  );
  if (end !== undefined) return { endMs: end.atMs, ended: 'its process ended' };
  if (next !== undefined) return { endMs: next.activatedAtMs, ended: 'ended before, unknown when' };
  return { endMs: nowMs, ended: isActive ? '' : 'not active' };
}
