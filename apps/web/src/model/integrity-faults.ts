import type { Point } from '@shardlab/contract';

/** Sum of the integrity faults over all points. Messages left after the drain (`left`) are not a fault. */
export function integrityFaults(points: readonly Point[]): number {
  return points.reduce((sum, { integrity }) => {
    const { lost, duplicated, damaged, outOfOrder } = integrity;
    return sum + lost + duplicated + damaged + outOfOrder;
  }, 0);
}
