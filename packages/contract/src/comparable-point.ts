/** Which point of a run a headline speaks of: a rule, never the point with the most impressive ratio. */
import { numberParam } from './parameter.ts';
import { figureOf, type Point, pointKey } from './point.ts';

/** The key that points of different systems share if all their parameters are equal. */
export const parametersKey = (point: Pick<Point, 'program' | 'params'>): string =>
  pointKey({ program: point.program, system: '', params: point.params });

/**
 * The most loaded parameters at which both queues were measured: the shortest round trip, then the most instances, then the
 * most threads; see `parametersKey`. Null if there are none, or if one of the two dequeued nothing there.
 */
export function comparableParameters(points: readonly Point[]): string | null {
  const measuredOf = (system: string) => points.filter((point) => point.system === system && dequeues(point));
  const unsharded = new Set(measuredOf('unsharded').map(parametersKey));
  const [most] = measuredOf('sharded')
    .filter((point) => unsharded.has(parametersKey(point)))
    .sort(byLoad);
  return most === undefined ? null : parametersKey(most);
}

const dequeues = (point: Point): boolean => figureOf(point, 'dequeuePerSec') > 0;

function byLoad(a: Point, b: Point): number {
  const number = (name: string) => numberParam(a.params, name) - numberParam(b.params, name);
  return number('roundTripMs') || -number('instances') || -number('threads');
}
