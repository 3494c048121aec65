import { useSyncExternalStore } from 'react';

const query = matchMedia('(hover: none)');
const subscribe = (listener: () => void) => {
  query.addEventListener('change', listener);
  return () => query.removeEventListener('change', listener);
};

/** How to see the values of a chart. A screen that is touched has nothing to point with, and mostly no arrow keys. */
export function useChartHint(words: string, touch = 'Touch a mark to see its values.'): string {
  const isTouched = useSyncExternalStore(subscribe, () => query.matches);
  return isTouched ? touch : words;
}
