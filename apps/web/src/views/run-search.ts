/** What of a run's page lies in its address. */
import { type MetricId, metricIds } from '../model/metrics.ts';

export const detailTabs = ['points', 'waits', 'integrity', 'environment'] as const;
export type DetailTab = (typeof detailTabs)[number];

export interface RunSearch {
  metric?: MetricId;
  /** Emulated round trip to show, milliseconds; left out for all of them. */
  trip?: number;
  /** Key of the point that the time charts are narrowed to. */
  point?: string;
  tab?: DetailTab;
}

/** Unknown values are dropped: an old link shows the page, not an error. */
export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const metric = metricIds.find((id) => id === search.metric);
  const tab = detailTabs.find((id) => id === search.tab);
  const { trip, point } = search;
  return {
    ...(metric === undefined ? {} : { metric }),
    ...(typeof trip === 'number' && trip >= 0 ? { trip } : {}),
    ...(typeof point === 'string' ? { point } : {}),
    ...(tab === undefined ? {} : { tab }),
  };
}
