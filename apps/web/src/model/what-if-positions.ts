/** The current and the previous position of the sliders: the points shown, and those of the previous position as a ghost. */
import type { SimulatedPoint } from './what-if-series.ts';

export interface Positions<Request> {
  /** The request to which the points belong; null before the first answer. */
  request: Request | null;
  points: readonly SimulatedPoint[];
  /** The last request that was simulated to its end before this one: where the sliders rested. */
  before: { request: Request; points: readonly SimulatedPoint[] } | null;
  /** Whether all points are as precise as they get. */
  isAtRest: boolean;
}

export const startPositions: Positions<never> = { request: null, points: [], before: null, isAtRest: false };

/** Points of a request came: further or more precise ones, or the first of a new position. */
export function received<Request>(
  now: Positions<Request>,
  answer: { request: Request; points: readonly SimulatedPoint[]; isLast: boolean },
): Positions<Request> {
  const { request, points, isLast } = answer;
  if (request !== now.request) {
    // An answer without points says nothing of the new position yet.
    if (points.length === 0) return now;
    const rested =
      now.isAtRest && now.request !== null ? { request: now.request, points: now.points } : now.before;
    return { request, points, before: rested, isAtRest: isLast };
  }
  const keys = new Set(points.map(({ job }) => job.key));
  return {
    ...now,
    points: [...now.points.filter(({ job }) => !keys.has(job.key)), ...points],
    isAtRest: isLast,
  };
}
