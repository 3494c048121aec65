/**
 * The percentiles at which a distribution is stored: those of HdrHistogram's own output, so that its tools can read a run's
 * distributions.
 */

const ticksPerHalfDistance = 5;

/**
 * Shares from 0 to 1: five between 0 and one half, five on the way from there to 1, and so on until fewer than one of `count` values
 * remains; then 1. So 10,000 values have some 70, and a million 100.
 */
export function percentileTicks(count: number): number[] {
  if (count === 0) return [];
  const ticks: number[] = [];
  for (let half = 0; 2 ** half <= count; half++) {
    const [from, step] = [1 - 0.5 ** half, 0.5 ** (half + 1) / ticksPerHalfDistance];
    for (let tick = 0; tick < ticksPerHalfDistance; tick++) ticks.push(from + tick * step);
  }
  return [...ticks, 1];
}
