import type { Timers } from './ports.ts';

/** Resolves after `ms` milliseconds, or as soon as `signal` aborts. Keeps the process alive until then. */
export function pause(timers: Timers, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      timer.cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = timers.deadline(ms, end);
    signal?.addEventListener('abort', end);
  });
}
