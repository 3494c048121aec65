/** Claims A4 and A13: the unsharded queue, or topic, gains little from threads and from instances. */
import type { ClaimClause } from '@shardlab/contract';
import { clauseOf, fixed, needs } from '../../../judging/clause.ts';
import {
  againstEachBaseline,
  type Baseline,
  baselinesOf,
  best,
  type Family,
  familiesOf,
  gainsInWords,
  inCondition,
  pointInWords,
  provenanceOf,
  type QueueJudge,
  sharded,
  topWaitInWords,
} from '../../../judging/queue-points.ts';
import { dequeues, shareOfWaits } from '../../../judging/queue-samples.ts';
import { ratioOf, type Sample } from '../../../judging/sample.ts';
import { perSec } from '../../../programs/figures-in-words.ts';
import type { QueuePoint } from '../../../programs/queue/points/queue-point.ts';

/** "Little" from threads: thirty-two of them do not make two of one. */
const threadsGainMax = 2;
/** "Little" from instances: none of two, four or eight instances gains a quarter over the best point of one. */
const instancesGainMax = 1.25;
/** The sharded queue gains at least this many times as much from the same threads and instances. */
const shardedGainMin = 2;
/** Sessions wait for each other if such waits are at least this share of the queue's waits. */
const concurrencyMin = 0.5;

export const judgeA4: QueueJudge = (points) => {
  const clauses = familiesOf(points).flatMap((family) =>
    baselinesOf(family.points).flatMap((baseline) => gainClauses(family, baseline)),
  );
  return clauses.length > 0 ? clauses : needs(needed);
};

const needed =
  'Needs points of both queues with one thread on one instance, with more threads there, and with more instances.';

/** Like A4, and sessions of several instances must wait for each other. */
export const judgeA13: QueueJudge = (points) => {
  const clauses = againstEachBaseline(points, (family, baseline) => {
    const { points: plain, words } = baseline;
    const gains = gainClauses(family, baseline);
    const crowded = best(plain.filter(({ params }) => params.instances > 1 && params.threads > 1));
    if (gains.length === 0 || crowded === null) return gains;
    return [
      ...gains,
      clauseOf({
        condition: inCondition(family.words, words),
        statement: 'sessions wait for each other',
        unit: 'of its waits are for other sessions',
        sample: shareOfWaits((wait) => wait.class === 'concurrency')(crowded),
        over: concurrencyMin,
        provenance: family.provenance,
        numbers: `At its best point on several instances it waits most for ${topWaitInWords(crowded)}. ${baseline.pair.asTopic}`,
      }),
    ];
  });
  return clauses.length > 0 ? clauses : needs(needed);
};

/** A gain is the rate of the best point ÷ that of one thread on one instance. */
function gainClauses(family: Family, { points: plain, words, pair }: Baseline): ClaimClause[] {
  const [one, several] = [onOne(plain), best(plain.filter(({ params }) => params.instances > 1))];
  const [split, plainGain] = [gainOf(sharded(family.points)), gainOf(plain)];
  if (one === null || several === null || split === null || plainGain === null) return [];
  const condition = inCondition(family.words, words);
  const common = { condition, provenance: provenanceOf([...plain, split.top]) };
  return [
    clauseOf({
      ...common,
      statement: 'it gains little from threads',
      unit: '× the rate of one thread',
      sample: one.gain,
      under: threadsGainMax,
      numbers: `On one instance it reaches ${perSec(one.top.dequeuePerSec)} (${pointInWords(one.top)}), ${fixed(one.gain.value, 1)} times the rate of one thread.`,
    }),
    clauseOf({
      ...common,
      statement: 'it gains little from instances',
      unit: '× the best rate of one instance',
      sample: ratioOf(dequeues(several), dequeues(one.top)),
      under: instancesGainMax,
      numbers: `Several instances reach ${perSec(several.dequeuePerSec)} (${pointInWords(several)}).`,
    }),
    clauseOf({
      ...common,
      statement: 'the sharded queue gains more from the same',
      unit: '× the gain of the unsharded queue',
      sample: ratioOf(split.gain, plainGain.gain),
      over: shardedGainMin,
      numbers: [
        `From one thread to its best point the sharded queue gains a factor of ${fixed(split.gain.value, 1)} (${perSec(split.top.dequeuePerSec)}), the unsharded one ${fixed(plainGain.gain.value, 1)}.`,
        bestRatesInWords(family.points, pair),
      ]
        .filter((sentence) => sentence !== '')
        .join(' '),
    }),
  ];
}

/** Splits the factor between the best rates into the parts due to group commit and to sharding. */
function bestRatesInWords(points: readonly QueuePoint[], pair: Baseline['pair']): string {
  const bestOf = (system: string) => best(points.filter((point) => point.system === system))?.dequeuePerSec;
  const [unsharded, grouped] = [bestOf(pair.own), bestOf(pair.grouped)];
  return gainsInWords({ unsharded, grouped, sharded: best(sharded(points))!.dequeuePerSec });
}

interface Gain {
  gain: Sample;
  top: QueuePoint;
}

const onOne = (points: readonly QueuePoint[]) =>
  gainOf(points.filter(({ params }) => params.instances === 1));

/** Null without a point of one thread on one instance, or without any other. */
function gainOf(points: readonly QueuePoint[]): Gain | null {
  const start = points.find(({ params }) => params.threads === 1 && params.instances === 1);
  const top = best(points.filter((point) => point !== start));
  if (start === undefined || top === null || start.dequeuePerSec === 0) return null;
  return { gain: ratioOf(dequeues(top), dequeues(start)), top };
}
