/** Claims A7 and A14: CPU per message, sharded compared with unsharded. A17: CPU of each of eight instances. */
import type { ClaimClause } from '@shardlab/contract';
import { clauseOf, clauseWithout, fixed, needs } from '../../../judging/clause.ts';
import {
  againstEachBaseline,
  type BaselinePair,
  best,
  type Family,
  gainsInWords,
  inCondition,
  pointInWords,
  provenanceOf,
  type QueueJudge,
  sharded,
} from '../../../judging/queue-points.ts';
import { cpuUs, highestBy, lowestBy } from '../../../judging/queue-samples.ts';
import { combined, geometricMean, ratioOf, type Sample } from '../../../judging/sample.ts';
import { percent, perSec } from '../../../programs/figures-in-words.ts';
import type { QueuePoint } from '../../../programs/queue/points/queue-point.ts';
import { whitePaper } from '../document/document-figures.ts';

export const judgeA7: QueueJudge = (points) => {
  const clauses = againstEachBaseline(points, (family, { points: plains, words, pair }): ClaimClause[] => {
    const pairs = pairsOf(family, plains);
    if (pairs.length === 0) return [];
    const condition = inCondition(family.words, words);
    const { loaded, light, provenance } = byLoad(pairs);
    const least = lowestBy(loaded, ({ ratio }) => ratio.value)!;
    const common = { condition, provenance };
    const clause = clauseOf({
      ...common,
      statement: 'four times as many dequeues per CPU second on any number of instances',
      unit: '× the dequeues per CPU second of the unsharded queue',
      sample: least.ratio,
      over: whitePaper.dequeuesPerCpuRatio,
      numbers: `${costsInWords(least, family, pair)} The ratios are ${loaded.map(({ ratio }) => fixed(ratio.value)).join(', ')}.`,
    });
    if (light.length === 0) return [clause];
    const mean = (all: readonly Pair[]) =>
      combined(
        all.map(({ ratio }) => ratio),
        geometricMean,
      );
    return [
      clause,
      clauseOf({
        ...common,
        statement: 'more so at higher load',
        unit: '× the ratio with the fewest threads',
        sample: ratioOf(mean(loaded), mean(light)),
        over: 1,
        numbers: `With ${light[0]!.split.params.threads} ${light[0]!.split.params.threads === 1 ? 'thread' : 'threads'} the ratio is ${fixed(mean(light).value)}, with ${loaded[0]!.split.params.threads} ${fixed(mean(loaded).value)}.`,
      }),
    ];
  });
  return clauses.length > 0
    ? clauses
    : needs('Needs points of both queues with the same number of threads, under load.');
};

export const judgeA14: QueueJudge = (points) => {
  const clauses = againstEachBaseline(points, (family, { points: plains, words, pair }) => {
    const pairs = pairsOf(family, plains);
    if (pairs.length === 0) return [];
    const { loaded, provenance } = byLoad(pairs);
    const least = lowestBy(loaded, ({ ratio }) => ratio.value)!;
    return [
      clauseOf({
        condition: inCondition(family.words, words),
        statement: 'less than half of the CPU on any number of instances',
        unit: '× the CPU per delivery of the unsharded topic',
        sample: ratioOf(cpuUs(least.split), cpuUs(least.plain)),
        under: whitePaper.topicCpuRatio,
        digits: 3,
        provenance,
        numbers: `${costsInWords(least, family, pair)} ${pair.asTopic}`,
      }),
    ];
  });
  return clauses.length > 0
    ? clauses
    : needs('Needs points of a sharded and an unsharded topic with the same number of threads, under load.');
};

interface Pair {
  split: QueuePoint;
  /** The point of the baseline with the same parameters. */
  plain: QueuePoint;
  /** CPU per message of the baseline ÷ that of the sharded queue. */
  ratio: Sample;
}

function pairsOf(family: Family, plains: readonly QueuePoint[]): Pair[] {
  return plains.flatMap((plain): Pair[] => {
    const split = sharded(family.points).find((point) => sameParams(point, plain));
    return split === undefined || split.cpuUsPerMessage === 0 || plain.cpuUsPerMessage === 0
      ? []
      : [{ split, plain, ratio: ratioOf(cpuUs(plain), cpuUs(split)) }];
  });
}

/** Threads are fixed: the most that the document's straight line has, if they were measured, and the fewest. */
function byLoad(pairs: readonly Pair[]) {
  const threadsOf = ({ split }: Pair) => split.params.threads;
  const all = pairs.map(threadsOf);
  const upTo32 = all.filter((threads) => threads <= whitePaper.threadsMax);
  const [most, fewest] = [Math.max(...(upTo32.length > 0 ? upTo32 : all)), Math.min(...all)];
  return {
    loaded: pairs.filter((pair) => threadsOf(pair) === most),
    light: fewest === most ? [] : pairs.filter((pair) => threadsOf(pair) === fewest),
    provenance: provenanceOf(pairs.map(({ split }) => split)),
  };
}

function costsInWords({ split, plain }: Pair, { points }: Family, { own, grouped }: BaselinePair): string {
  /** Messages per second of CPU. */
  const perCpu = (system: string) => {
    const point = points.find((each) => each.system === system && sameParams(each, split));
    return point === undefined ? undefined : 1e6 / point.cpuUsPerMessage;
  };
  const costs = `The lowest ratio: ${pointInWords(split)}, ${fixed(split.cpuUsPerMessage, 1)} µs of CPU per dequeued message sharded and ${fixed(plain.cpuUsPerMessage, 1)} µs ${plain.system}, both including the load generator.`;
  const gains = gainsInWords({
    unsharded: perCpu(own),
    grouped: perCpu(grouped),
    sharded: 1e6 / split.cpuUsPerMessage,
  });
  return gains === '' ? costs : `${costs} ${gains}`;
}

function sameParams(a: QueuePoint, b: QueuePoint): boolean {
  return JSON.stringify(a.params) === JSON.stringify(b.params);
}

/**
 * The utilisation of the document's machines cannot be measured here: eight instances share this machine's cores, and the load
 * generator is part of them. Their CPU at the document's rate is computed and shown, but does not decide.
 */
export const judgeA17: QueueJudge = (points) => {
  const { nodes, coresPerNode, topicDequeuePerSec } = whitePaper;
  const top = best(sharded(points).filter((point) => point.params.instances === nodes));
  if (top === null || top.dequeuePerSec === 0)
    return needs(`Needs points of a sharded topic on ${nodes} instances.`);
  const busiest = highestBy(top.cpuShareByInstance, (share) => share)!;
  const share = ((busiest / top.dequeuePerSec) * topicDequeuePerSec) / coresPerNode;
  return [
    clauseWithout('not-comparable', {
      statement: 'CPU below 10 % on each node',
      unit: "of one of the document's nodes, per instance",
      reason: `The busiest of ${nodes} instances keeps ${fixed(busiest)} cores busy at ${perSec(top.dequeuePerSec)} (${pointInWords(top)}). At the document's ${perSec(topicDequeuePerSec)} that would be ${percent(share)} of a node with ${coresPerNode} cores, but any system that takes less than ${Math.round((0.1 * coresPerNode * nodes * 1e6) / topicDequeuePerSec)} µs for a delivery is below 10 %, and all instances and clients share this machine.`,
    }),
  ];
};
