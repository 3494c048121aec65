import { useSyncExternalStore } from 'react';

const query = matchMedia('(prefers-reduced-motion: reduce)');
const subscribe = (listener: () => void) => {
  query.addEventListener('change', listener);
  return () => query.removeEventListener('change', listener);
};

/** Whether the user has set the system preference for reduced motion. */
export const useReducedMotion = (): boolean => useSyncExternalStore(subscribe, () => query.matches);
