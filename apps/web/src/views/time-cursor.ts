/** The one cursor of all time charts. Moving it must not draw a chart again, so it is no React state. */
import { useSyncExternalStore } from 'react';
import { stepTime, type Timed } from '../model/time-series.ts';

export class TimeCursor {
  readonly #listeners = new Set<() => void>();
  #atMs: number | null = null;

  readonly get = (): number | null => this.#atMs;

  readonly set = (atMs: number | null): void => {
    if (atMs === this.#atMs) return;
    this.#atMs = atMs;
    for (const listener of this.#listeners) listener();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

/** Milliseconds since the start of the run, or null while the cursor is nowhere. */
export const useCursorTime = (cursor: TimeCursor): number | null =>
  useSyncExternalStore(cursor.subscribe, cursor.get);

const steps: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: -10,
  PageDown: 10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** Moves the cursor by a key, from sample to sample; Escape takes it away. False for a key that means nothing here. */
export function moveTimeCursor(cursor: TimeCursor, key: string, trials: readonly Timed[]): boolean {
  const step = steps[key];
  if (key === 'Escape') cursor.set(null);
  else if (step !== undefined) cursor.set(stepTime(trials, cursor.get(), step));
  else return false;
  return true;
}
