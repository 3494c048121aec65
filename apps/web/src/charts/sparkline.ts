/** A line of a few dozen pixels without axes, for a list: its shape, not its values. */
import { scaleLinear } from 'd3-scale';
import { line } from 'd3-shape';

/** The path of values at equal distances, from 0 at the bottom to their maximum at the top; empty with fewer than two. */
export function sparklinePath(values: readonly number[], size: { width: number; height: number }): string {
  if (values.length < 2) return '';
  const inset = 1.5; // half of a stroke at the edges, and a little air
  const x = scaleLinear([0, values.length - 1], [inset, size.width - inset]);
  const y = scaleLinear([0, Math.max(...values, 1)], [size.height - inset, inset]);
  return (
    line<number>(
      (_, index) => x(index),
      (value) => y(value),
    ).digits(1)(values) ?? ''
  );
}
