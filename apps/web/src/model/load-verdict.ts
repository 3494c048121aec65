/** The result of a load in one sentence. */
import type { ClusterLoad } from '@shardlab/contract';
import { formatCount } from './format.ts';

/** Null until the load is done: losses can be counted only after the queue is drained. */
export function loadVerdict(load: ClusterLoad): string | null {
  const { state, acknowledged, consumed, duplicated, lost, left, outcomeUnknown } = load;
  if (state !== 'done') return null;
  const counts = `${formatCount(acknowledged)} messages acknowledged, ${formatCount(consumed)} consumed`;
  if (lost === null) {
    const why =
      load.error === null
        ? 'An instance is unavailable, so its messages cannot be counted'
        : 'The messages that are left could not be counted';
    return `${why}: ${counts}.`;
  }
  const parts = [
    lost === 0 ? 'Nothing lost' : `${formatCount(lost)} lost`,
    duplicated === 0 ? 'nothing duplicated' : `${formatCount(duplicated)} duplicated`,
    ...(left === null || left === 0 ? [] : [`${formatCount(left)} left in the queue`]),
  ];
  const uncertain =
    outcomeUnknown === 0 ? '' : `; the outcome of ${formatCount(outcomeUnknown)} more is unknown`;
  return `${parts.join(', ')}: ${counts}${uncertain}.`;
}
