/** A line of a few dozen pixels without axes, for a list: its shape, not its values. */
import { scaleLinear } from 'd3-scale';
import { line } from 'd3-shape';
import type { TimePoint } from '../model/time-chart-data.ts';

/** The path of stretches of points over one time, from 0 at the bottom to their maximum at the top; empty without two points. */
export function sparklinePath(
  stretches: readonly (readonly TimePoint[])[],
  size: { width: number; height: number },
): string {
  const points = stretches.flat();
  const times = points.map(({ atMs }) => atMs);
  if (points.length < 2) return '';
  const inset = 1.5; // half of a stroke at the edges, and a little air
  const x = scaleLinear([Math.min(...times), Math.max(...times)], [inset, size.width - inset]);
  const max = Math.max(...points.map(({ value }) => value), 1);
  const y = scaleLinear([0, max], [size.height - inset, inset]);
  const path = line<TimePoint>(
    ({ atMs }) => x(atMs),
    ({ value }) => y(value),
  ).digits(1);
  return stretches.map((stretch) => path([...stretch])).join('');
}
