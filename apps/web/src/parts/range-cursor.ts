/** A cursor over a range of a chart, such as its time, that the keyboard moves in equal steps. */
const steps = 60;

/**
 * The cursor for `ChartFrame`. With `at` null there is no cursor, and a move starts at the end of the range opposite to its
 * direction.
 */
export function rangeCursor(
  [first, last]: readonly [number, number],
  at: number | null,
  set: (at: number | null) => void,
): { now: number; max: number; onKey(key: string): boolean } {
  const step = (last - first) / steps;
  return {
    now: at === null ? 0 : Math.round(((at - first) / (last - first)) * steps),
    max: steps,
    onKey(key) {
      if (key === 'Escape') set(null);
      else if (key === 'ArrowRight') set(Math.min(last, (at ?? first) + step));
      else if (key === 'ArrowLeft') set(Math.max(first, (at ?? last) - step));
      else if (key === 'Home') set(first);
      else if (key === 'End') set(last);
      else return false;
      return true;
    },
  };
}
