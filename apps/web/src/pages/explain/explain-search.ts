/** The query string of the explain page: what a link to it reproduces. */
import type { ActivityUnit } from '../../model/active-sessions.ts';

export interface ExplainSearch {
  /** Key of the point that is explained; default the one at which most sessions wait. */
  point?: string;
  /** Key of the point with which it is compared. */
  against?: string;
  unit?: ActivityUnit;
  /** Name of the event whose durations are shown; default the first of the point. */
  event?: string;
}

/** Drops unknown values, so that an old link shows the page instead of an error. */
export function readExplainSearch(search: Record<string, unknown>): ExplainSearch {
  const { point, against, unit, event } = search;
  return {
    ...(typeof point === 'string' ? { point } : {}),
    ...(typeof against === 'string' ? { against } : {}),
    ...(unit === 'us' ? { unit } : {}),
    ...(typeof event === 'string' ? { event } : {}),
  };
}
