/** The headline numbers of a run: its best dequeue rates and its integrity faults. */
import { figureOf, type Point, type Run } from '@shardlab/contract';

export interface BestPoints {
  sharded: Point;
  unsharded: Point;
  /** Best sharded dequeue rate ÷ best unsharded one; the two points may differ in threads and instances. */
  ratio: number;
}

/** Dequeues per second. */
export const dequeuesOf = (point: Point): number => figureOf(point, 'dequeuePerSec');

/** The point with the highest dequeue rate; null if the run has no points of this system. */
export function bestPoint(points: readonly Point[], system: string): Point | null {
  const candidates = points.filter((point) => point.system === system);
  return candidates.reduce<Point | null>(
    (best, point) => (best === null || dequeuesOf(point) > dequeuesOf(best) ? point : best),
    null,
  );
}

/** Null until both systems have delivered messages. */
export function bestPoints(run: Pick<Run, 'points'>): BestPoints | null {
  const sharded = bestPoint(run.points, 'sharded');
  const unsharded = bestPoint(run.points, 'unsharded');
  if (sharded === null || unsharded === null || !(dequeuesOf(unsharded) > 0)) return null;
  return { sharded, unsharded, ratio: dequeuesOf(sharded) / dequeuesOf(unsharded) };
}

/** Sum of the integrity faults over all points. Messages left after the drain (`left`) are not a fault. */
export function integrityFaults(points: readonly Point[]): number {
  return points.reduce((sum, { integrity }) => {
    const { lost, duplicated, damaged, outOfOrder } = integrity;
    return sum + lost + duplicated + damaged + outOfOrder;
  }, 0);
}
