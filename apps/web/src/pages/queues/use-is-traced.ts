import type { QueueInfo } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { storeQuery } from '../../api/queries.ts';

/**
 * Whether the lives of its messages are recorded: of sharded queues of this engine, which they count as until the store is known, so that
 * a page that was opened at its trace does not begin with another tab.
 */
export function useIsTraced({ kind }: Pick<QueueInfo, 'kind'>): boolean {
  const { data } = useQuery(storeQuery);
  return kind === 'sharded' && (data?.store ?? 'local') === 'local';
}
