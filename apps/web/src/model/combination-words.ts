import { type Combination, numberParam } from '@shardlab/contract';
import { plural } from './format.ts';

/** "sharded, 2 instances, 16 threads, 1 ms round trip": the parameters that tell most about a point. */
export function describeCombination({ system, params }: Pick<Combination, 'system' | 'params'>): string {
  const [instances, threads, roundTripMs] = ['instances', 'threads', 'roundTripMs'].map((name) =>
    numberParam(params, name),
  ) as [number, number, number];
  return [
    system,
    ...(instances > 0 ? [plural(instances, 'instance')] : []),
    ...(threads > 0 ? [plural(threads, 'thread')] : []),
    ...(roundTripMs > 0 ? [`${roundTripMs} ms round trip`] : []),
  ].join(', ');
}
