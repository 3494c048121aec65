/** How much a slow consumer's pipeline leaves to another consumer, as rates: the second half of D8. */
import { type ClaimClause, figureOf, numberParam, type Point } from '@shardlab/contract';
import { clauseOf } from '../../../judging/clause.ts';
import { figureSample, provenanceOfPoints } from '../../../judging/point-samples.ts';
import { ratioOf } from '../../../judging/sample.ts';
import { perSec } from '../../../programs/figures-in-words.ts';
import { slowConsumerParamsOf } from '../../../programs/pipelining/slow-consumer-job.ts';
import { slowConsumerPoints } from './pipelining-points.ts';

/** Starved, and hardly disturbed: the bars are ours. */
const starved = 0.5;
const undisturbed = 0.7;

const sizeOf = ({ params }: Point) => numberParam(params, 'messagesMaximum');
const pipelineOf = ({ params }: Point) => slowConsumerParamsOf(params).pipeline;

/**
 * A pipeline that is filled at once starves the other consumer where it may hold more than the producers may have undelivered; one
 * that grows with its consumer never does. Each against the same load without the slow consumer.
 */
export function starvationClauses(all: readonly Point[]): ClaimClause[] {
  const groups = Map.groupBy(slowConsumerPoints(all), ({ params }) =>
    JSON.stringify({ ...params, pipeline: undefined }),
  );
  return [...groups.values()].flatMap((group) => {
    const alone = group.find((point) => pipelineOf(point) === 'none');
    if (alone === undefined) return [];
    return group.flatMap((point): ClaimClause[] => {
      const pipeline = pipelineOf(point);
      const isHuge = sizeOf(point) > numberParam(point.params, 'quotaMessages');
      if (pipeline === 'none' || (pipeline === 'filled-at-once' && !isHuge)) return [];
      const isFair = pipeline === 'fair';
      return [
        clauseOf({
          statement: isFair
            ? `beside a fair pipeline of up to ${sizeOf(point)} another consumer keeps its rate`
            : `beside a pipeline of ${sizeOf(point)} that is filled at once another consumer starves`,
          unit: '× its rate without the slow consumer',
          sample: ratioOf(figureSample(point, 'otherPerSec'), figureSample(alone, 'otherPerSec')),
          ...(isFair ? { over: undisturbed } : { under: starved }),
          provenance: provenanceOfPoints([point, alone]),
          numbers: `${perSec(figureOf(point, 'otherPerSec'))} instead of ${perSec(figureOf(alone, 'otherPerSec'))}; consumers held up to ${figureOf(point, 'heldMost')} messages.`,
        }),
      ];
    });
  });
}
