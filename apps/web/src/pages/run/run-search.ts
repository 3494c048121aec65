/** The query string of the run page: metric, claim, point, message, time and tab. */
export const detailTabs = ['points', 'waits', 'integrity', 'environment'] as const;
export type DetailTab = (typeof detailTabs)[number];

export interface RunSearch {
  /** Name of a figure. */
  metric?: string;
  /** Id of the claim that is shown large. */
  claim?: string;
  /** Key of the point that the time charts are limited to. */
  point?: string;
  /** Id of the message whose life is shown: a text, since as a number 100.10 would be 100.1. */
  message?: string;
  /** Place of the filmstrip, milliseconds since the start of the run. */
  at?: number;
  tab?: DetailTab;
  /** Whether the page fills the screen for an audience. */
  present?: true;
}

/** Drops unknown values, so that an old link shows the page instead of an error. */
export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const tab = detailTabs.find((id) => id === search.tab);
  const { metric, claim, point, message, at, present } = search;
  return {
    ...(typeof metric === 'string' ? { metric } : {}),
    ...(typeof claim === 'string' ? { claim } : {}),
    ...(typeof point === 'string' ? { point } : {}),
    ...(typeof message === 'string' ? { message } : {}),
    ...(typeof at === 'number' && at >= 0 ? { at } : {}),
    ...(tab === undefined ? {} : { tab }),
    ...(present === true ? { present } : {}),
  };
}
