/** The cursor of a chart whose lines have points: one point at a time, moved by the pointer or by keys. */
import { useState } from 'react';
import { type CursorKey, cursorKeys, moveCursor, type ScalingSeries } from '../model/scaling-series.ts';

/**
 * `cursor` is the key of the point at the cursor, null for none. `sliderOver` gives what a `ChartFrame` needs to move it by
 * keys over the points of `series`; Enter and the space bar call `onSelect` where it is given.
 */
export function usePointCursor() {
  const [cursor, setCursor] = useState<string | null>(null);
  const sliderOver = (series: readonly ScalingSeries[], onSelect?: (key: string) => void) => {
    const keys = series.flatMap(({ points }) => points.map(({ key }) => key));
    return {
      now: Math.max(0, keys.indexOf(cursor ?? '')),
      max: Math.max(1, keys.length - 1),
      onKey(key: string): boolean {
        if (onSelect !== undefined && (key === 'Enter' || key === ' ') && cursor !== null) onSelect(cursor);
        else if (key === 'Escape') setCursor(null);
        else if (cursorKeys.includes(key)) setCursor(moveCursor(series, cursor, key as CursorKey));
        else return false;
        return true;
      },
    };
  };
  return { cursor, setCursor, sliderOver };
}
