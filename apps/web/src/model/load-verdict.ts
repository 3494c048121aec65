/** How a load went, in one sentence. */
import type { ClusterLoad } from '@shardlab/contract';
import { formatCount } from './format.ts';

/** Null while the load goes on: what is lost can only be said of a queue that is drained. */
export function loadVerdict(load: ClusterLoad): string | null {
  const { state, acknowledged, consumed, doubled, lost, left, unknown } = load;
  if (state !== 'done') return null;
  const counts = `${formatCount(acknowledged)} messages acknowledged, ${formatCount(consumed)} consumed`;
  if (lost === null) return `An instance is not served, so what it holds is not known: ${counts}.`;
  const parts = [
    lost === 0 ? 'Nothing lost' : `${formatCount(lost)} lost`,
    doubled === 0 ? 'nothing doubled' : `${formatCount(doubled)} doubled`,
    ...(left === null || left === 0 ? [] : [`${formatCount(left)} left in the queue`]),
  ];
  const doubt = unknown === 0 ? '' : `; of ${formatCount(unknown)} more the outcome could not be learnt`;
  return `${parts.join(', ')}: ${counts}${doubt}.`;
}
