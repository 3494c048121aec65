/** The query string of the compare page: a permanent link to a comparison. */
export interface CompareSearch {
  /** Ids of runs, the baseline first. */
  runs: string[];
  /** Name of a figure; default the first of the program. */
  metric?: string;
}

export const comparedMax = 6;

/** Drops unknown values, so that an old link shows the page instead of an error. */
export function readCompareSearch(search: Record<string, unknown>): CompareSearch {
  const { runs, metric } = search;
  const ids = typeof runs === 'string' ? runs.split(',') : Array.isArray(runs) ? runs : [];
  const known = ids.filter((id): id is string => typeof id === 'string' && id !== '');
  return {
    runs: [...new Set(known)].slice(0, comparedMax),
    ...(typeof metric === 'string' ? { metric } : {}),
  };
}
