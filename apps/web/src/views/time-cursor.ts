/** The one cursor of all time charts. Moving it must not draw a chart again, so it is no React state. */
import { useSyncExternalStore } from 'react';

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
