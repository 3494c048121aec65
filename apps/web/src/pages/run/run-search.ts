/** The query string of the run page: metric, round trip, point and tab. */
export const detailTabs = ['points', 'waits', 'integrity', 'environment'] as const;
export type DetailTab = (typeof detailTabs)[number];

export interface RunSearch {
  /** Name of a figure. */
  metric?: string;
  /** Emulated round trip to show, milliseconds; left out for all. */
  trip?: number;
  /** Key of the point that the time charts are limited to. */
  point?: string;
  tab?: DetailTab;
}

/** Drops unknown values, so that an old link shows the page instead of an error. */
export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const tab = detailTabs.find((id) => id === search.tab);
  const { metric, trip, point } = search;
  return {
    ...(typeof metric === 'string' ? { metric } : {}),
    ...(typeof trip === 'number' && trip >= 0 ? { trip } : {}),
    ...(typeof point === 'string' ? { point } : {}),
    ...(tab === undefined ? {} : { tab }),
  };
}
