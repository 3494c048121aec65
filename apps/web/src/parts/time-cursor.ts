/**
 * The cursor that all time charts of a page share. It is not React state, since moving it must not redraw the charts.
 */
import { useSyncExternalStore } from 'react';
import { type SampledSeries, stepTime } from '../model/time-series.ts';

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

/** The time at the cursor, milliseconds since the start of the run; null while there is no cursor. */
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

/** Moves the cursor from sample to sample; Escape removes it. Returns false for any other key. */
export function moveTimeCursor(cursor: TimeCursor, key: string, trials: readonly SampledSeries[]): boolean {
  const step = steps[key];
  if (key === 'Escape') cursor.set(null);
  else if (step !== undefined) cursor.set(stepTime(trials, cursor.get(), step));
  else return false;
  return true;
}
