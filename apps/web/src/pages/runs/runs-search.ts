/** The query string of the list of runs: its order and filters. */
import { type RunListQuery, type RunSort, runSorts } from '@shardlab/contract';

export type RunsSearch = Pick<RunListQuery, 'text' | 'status' | 'scale' | 'origin' | 'sort' | 'order'>;

export const statuses = ['queued', 'running', 'done', 'failed', 'cancelled'] as const;
export const scales = ['quick', 'full'] as const;
export const origins = ['here', 'imported'] as const;

/** Drops unknown values, so that an old link shows the page instead of an error. */
export function readRunsSearch(search: Record<string, unknown>): RunsSearch {
  const one = <Value>(values: readonly Value[], name: string) => values.find((each) => each === search[name]);
  const status = one(statuses, 'status');
  const scale = one(scales, 'scale');
  const origin = one(origins, 'origin');
  const sort = one(runSorts, 'sort');
  const order = one(['asc', 'desc'] as const, 'order');
  return {
    ...(typeof search.text === 'string' && search.text !== '' ? { text: search.text } : {}),
    ...(status === undefined ? {} : { status }),
    ...(scale === undefined ? {} : { scale }),
    ...(origin === undefined ? {} : { origin }),
    ...(sort === undefined ? {} : { sort }),
    ...(order === undefined ? {} : { order }),
  };
}

/** Texts begin with A, times and numbers with the largest; then the other way, then the order they were added in. */
export function nextOrder(
  { sort, order = 'desc' }: RunsSearch,
  by: RunSort,
): Pick<RunsSearch, 'sort' | 'order'> {
  const first = by === 'started' || by === 'duration' ? 'desc' : 'asc';
  if (sort !== by) return { sort: by, order: first };
  return order === first ? { sort: by, order: first === 'asc' ? 'desc' : 'asc' } : {};
}
