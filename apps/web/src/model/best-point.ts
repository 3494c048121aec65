/** The one sentence of result: the best dequeue rate of each queue in a run. */
import type { Implementation, Point, Run } from '@shardlab/contract';

export interface BestPoints {
  sharded: Point;
  unsharded: Point;
  /** Best sharded dequeue rate over best unsharded, whatever their threads and instances. */
  ratio: number;
}

/** The point with the highest dequeue rate, or null without points of this queue. */
export function bestPoint(points: readonly Point[], implementation: Implementation): Point | null {
  const own = points.filter((point) => point.implementation === implementation);
  return own.reduce<Point | null>(
    (best, point) => (best === null || point.dequeuePerSec > best.dequeuePerSec ? point : best),
    null,
  );
}

/** Null while one of the two has delivered nothing. */
export function bestPoints(run: Pick<Run, 'points'>): BestPoints | null {
  const sharded = bestPoint(run.points, 'sharded');
  const unsharded = bestPoint(run.points, 'unsharded');
  if (sharded === null || unsharded === null || !(unsharded.dequeuePerSec > 0)) return null;
  return { sharded, unsharded, ratio: sharded.dequeuePerSec / unsharded.dequeuePerSec };
}

/** Sum of the integrity faults over all points; `left` is no fault. */
export function integrityFaults(points: readonly Point[]): number {
  return points.reduce((sum, { integrity }) => {
    const { lost, duplicated, damaged, outOfOrder } = integrity;
    return sum + lost + duplicated + damaged + outOfOrder;
  }, 0);
}
