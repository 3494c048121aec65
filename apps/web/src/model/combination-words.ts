import { type Combination, numberParam, type Params } from '@shardlab/contract';
import { plural } from './format.ts';
import { systemInWords } from './system-words.ts';

/** "sharded, 2 instances, 16 threads, 1 ms round trip": the most informative parameters of a point. */
export const describeCombination = ({ system, params }: Pick<Combination, 'system' | 'params'>): string =>
  [systemInWords(system), ...partsOf(params)].join(', ');

/** "2 instances, 16 threads" */
export const describeParameters = (params: Params): string => partsOf(params).join(', ');

function partsOf(params: Params): string[] {
  const [instances, threads, roundTripMs] = ['instances', 'threads', 'roundTripMs'].map((name) =>
    numberParam(params, name),
  ) as [number, number, number];
  return [
    ...(instances > 0 ? [plural(instances, 'instance')] : []),
    ...(threads > 0 ? [plural(threads, 'thread')] : []),
    ...(roundTripMs > 0 ? [`${roundTripMs} ms round trip`] : []),
  ];
}

/** The content of a chart, preceded by its point; `place` may be empty. */
export const atPlace = (place: string, text: string): string => (place === '' ? text : `${place}; ${text}`);
