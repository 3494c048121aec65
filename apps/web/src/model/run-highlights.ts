/** The headline numbers of a run: its best dequeue rates and its integrity faults. */
import { figureOf, type Point, type Run } from '@shardlab/contract';

export interface BestPoints {
  sharded: Point;
  unsharded: Point;
  /** Best sharded dequeue rate ÷ best unsharded one; the two points may differ in threads and instances. */
  ratio: number;
  /** Null if it was not measured. */
  grouped: Grouped | null;
}

/** The unsharded queue with one writer for all sessions, which tells what sharding gives from what group commit gives. */
export interface Grouped {
  point: Point;
  /** Its best dequeue rate ÷ the best one of the unsharded queue: what group commit gives. */
  ofGroups: number;
  /** Best sharded dequeue rate ÷ its best one: what sharding gives. */
  ofSharding: number;
}

/** Dequeues per second. */
export const dequeuesOf = (point: Point): number => figureOf(point, 'dequeuePerSec');

/** The point with the highest dequeue rate; null if the run has no points of this system. */
function bestPoint(points: readonly Point[], system: string): Point | null {
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
  const grouped = bestPoint(run.points, 'unsharded-grouped');
  return {
    sharded,
    unsharded,
    ratio: dequeuesOf(sharded) / dequeuesOf(unsharded),
    grouped:
      grouped === null || !(dequeuesOf(grouped) > 0)
        ? null
        : {
            point: grouped,
            ofGroups: dequeuesOf(grouped) / dequeuesOf(unsharded),
            ofSharding: dequeuesOf(sharded) / dequeuesOf(grouped),
          },
  };
}

/** Sum of the integrity faults over all points. Messages left after the drain (`left`) are not a fault. */
export function integrityFaults(points: readonly Point[]): number {
  return points.reduce((sum, { integrity }) => {
    const { lost, duplicated, damaged, outOfOrder } = integrity;
    return sum + lost + duplicated + damaged + outOfOrder;
  }, 0);
}
