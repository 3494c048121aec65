/** The points of the document's first plan (one thread, one queue, all enqueues first), and their rates. */
import { figureOf, numberParam, type Point } from '@shardlab/contract';
import { median } from '@shardlab/model';
import { figureSample } from '../../../judging/point-samples.ts';
import { combined, geometricMean, ratioOf, type Sample } from '../../../judging/sample.ts';
import { perSec } from '../../../programs/figures-in-words.ts';

export const rates = [
  { name: 'enqueuePerSec', words: 'enqueue' },
  { name: 'dequeuePerSec', words: 'dequeue' },
] as const;
export type Rate = (typeof rates)[number];

export const firstPlanPoints = (points: readonly Point[]): Point[] =>
  points.filter(
    ({ program, params }) =>
      program === 'run-to-completion' &&
      params.schedule === 'enqueue-then-dequeue' &&
      numberParam(params, 'threads') === 1,
  );

export const ofSystem = (points: readonly Point[], system: string) =>
  points.filter((point) => point.system === system);

export const messagesOf = ({ params }: Point): number => numberParam(params, 'messages');

/** A value per trial, whatever the number of its messages. */
export const rateOf = (point: Point, { name }: Rate): Sample => figureSample(point, name);

export interface Place {
  /** Clients of the queues; those of Redis are always behind a socket. */
  condition: string;
  buffered: string;
  persistent: string;
}

const places: readonly Place[] = [
  { condition: 'remote sessions', buffered: 'buffered-remote', persistent: 'sharded-remote' },
  { condition: 'embedded sessions', buffered: 'buffered', persistent: 'sharded' },
];

/** The places for which the points have both kinds of queues. The document's clients are remote. */
export const placesOf = (points: readonly Point[]): Place[] =>
  places.filter(({ buffered, persistent }) =>
    [buffered, persistent].every((system) => ofSystem(points, system).length > 0),
  );

/** Rate of one system ÷ that of another: the mean over all numbers of messages that both have, in each repeat. */
export function rateRatio(
  points: readonly Point[],
  { over, under, rate }: { over: string; under: string; rate: Rate },
): Sample {
  const ratios = ofSystem(points, over).flatMap((point) => {
    const other = ofSystem(points, under).find((each) => messagesOf(each) === messagesOf(point));
    return other === undefined ? [] : [ratioOf(rateOf(point, rate), rateOf(other, rate))];
  });
  return combined(ratios, geometricMean);
}

/** "buffered 80,000/s": the median over all numbers of messages. */
export function rateInWords(points: readonly Point[], system: string, rate: Rate): string {
  const values = ofSystem(points, system).map((point) => figureOf(point, rate.name));
  return `${system} ${perSec(median(values))}`;
}
