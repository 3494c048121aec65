/** Claims W1 to W6, W9 and W10. Each compares points that differ in one parameter only. */

import { fixed, needs } from '../../../judging/clause.ts';
import {
  comparison,
  groupByOtherParams,
  highest,
  judged,
  judgedUnderLoad,
  lowest,
  middleOf,
  pairsAlong,
  sameParamsExcept,
} from '../../../judging/comparison.ts';
import { pointInWords, type QueueJudge, sharded } from '../../../judging/queue-points.ts';
import { bytes, cpuUs, dequeues, enqueues } from '../../../judging/queue-samples.ts';
import { perSec } from '../../../programs/figures-in-words.ts';
import type { QueuePoint } from '../../../programs/queue/points/queue-point.ts';

/** With a large backlog the rate must be at least this share of the rate with a small one. */
const backlogShareMin = 0.7;

export const judgeW1: QueueJudge = (points) => {
  const pairs = pairsAlong(sharded(points), 'backlog').map(([few, many]) => comparison(many, few, dequeues));
  const worst = lowest(pairs);
  const unit = '× the dequeue rate at the smallest backlog';
  if (worst === null) return needs('Needs sharded points that differ only in their backlog.');
  const { numerator, denominator, ratio } = worst;
  return judgedUnderLoad(
    worst,
    { over: backlogShareMin, unit, statement: 'a large backlog does not slow dequeues' },
    `With a backlog of ${count(numerator.params.backlog)} messages ${perSec(numerator.dequeuePerSec)}, with ${count(denominator.params.backlog)} ${perSec(denominator.dequeuePerSec)} (${pointInWords(numerator)}): a ratio of ${fixed(ratio.value)}.`,
  );
};

/** A byte rate below this share of that of smaller messages counts as a loss. */
const bytesShareMin = 0.85;

export const judgeW2: QueueJudge = (points) => {
  const unit = '× the bytes per second of the next smaller size, at the worst step';
  const lines = [...groupByOtherParams(sharded(points), 'payloadBytes').values()];
  const steps = lines.flatMap((line) =>
    line.slice(1).map((large, index) => comparison(large, line[index]!, bytes)),
  );
  const worst = lowest(steps);
  if (worst === null) return needs('Needs sharded points that differ only in their payload size.');
  const { numerator, denominator } = worst;
  const top = lines.flat().reduce((most, point) => (bytes(point).value > bytes(most).value ? point : most));
  return judgedUnderLoad(
    worst,
    { over: bytesShareMin, unit, statement: 'larger messages move as many bytes or more' },
    `The worst step: ${mibPerSec(denominator)} with ${count(denominator.params.payloadBytes)} bytes, ${mibPerSec(numerator)} with ${count(numerator.params.payloadBytes)} (${pointInWords(numerator)}); the highest rate is ${mibPerSec(top)} with ${count(top.params.payloadBytes)}.`,
  );
};

/** CPU per delivery with many subscribers, relative to the cheapest point with fewer. */
const subscriberCostMax = 1.5;

export const judgeW3: QueueJudge = (points) => {
  const unit = '× the CPU per delivery with fewer subscribers';
  const pairs = [...groupByOtherParams(sharded(points), 'subscribers').values()].flatMap((line) => {
    const most = line.at(-1)!;
    const fewer = line.slice(0, -1).filter((point) => point.cpuUsPerMessage > 0);
    if (fewer.length === 0 || most.cpuUsPerMessage === 0) return [];
    const cheapest = fewer.reduce((low, point) =>
      point.cpuUsPerMessage < low.cpuUsPerMessage ? point : low,
    );
    return [comparison(most, cheapest, cpuUs)];
  });
  const worst = highest(pairs);
  if (worst === null) return needs('Needs points of a sharded topic that differ only in their subscribers.');
  const { numerator, denominator } = worst;
  return judgedUnderLoad(
    worst,
    { under: subscriberCostMax, unit, statement: 'a delivery to many subscribers costs about as much CPU' },
    `With ${count(numerator.params.subscribers)} subscribers a delivery takes ${fixed(numerator.cpuUsPerMessage)} µs of CPU (${pointInWords(numerator)}, ${perSec(numerator.dequeuePerSec)}); the cheapest with fewer subscribers (${count(denominator.params.subscribers)}) takes ${fixed(denominator.cpuUsPerMessage)} µs.`,
  );
};

export const judgeW4: QueueJudge = (points) => {
  const unit = '× the CPU per message with a cache that holds the backlog';
  const pairs = pairsAlong(sharded(points), 'cacheMiB').map(([small, large]) =>
    comparison(small, large, cpuUs),
  );
  const middle = middleOf(pairs);
  if (middle === null) return needs('Needs sharded points that differ only in the size of the cache.');
  const { numerator, denominator } = middle;
  return judged(
    middle,
    { over: 1, unit, statement: 'a cache that is too small costs CPU' },
    `With a cache of ${count(numerator.params.cacheMiB)} MiB ${fixed(numerator.cpuUsPerMessage, 1)} µs of CPU per message and ${perSec(numerator.dequeuePerSec)}, with ${count(denominator.params.cacheMiB)} MiB ${fixed(denominator.cpuUsPerMessage, 1)} µs and ${perSec(denominator.dequeuePerSec)} (${pointInWords(numerator)}).`,
  );
};

export const judgeW5: QueueJudge = (points) => {
  const unit = '× the dequeue rate of durable messages';
  const withDurability = (durability: string) =>
    sharded(points).filter((point) => point.params.durability === durability);
  const pairs = withDurability('memory').flatMap((memory) => {
    const durable = withDurability('durable').find((point) => sameParamsExcept('durability', point, memory));
    return durable === undefined || durable.dequeuePerSec === 0
      ? []
      : [comparison(memory, durable, dequeues)];
  });
  const middle = middleOf(pairs);
  if (middle === null) return needs('Needs points that differ only in being nonpersistent or durable.');
  const { numerator, denominator } = middle;
  return judged(
    middle,
    { over: 1, unit, statement: 'nonpersistent messages are faster' },
    `The median of ${pairs.length} pairs: ${perSec(numerator.dequeuePerSec)} nonpersistent, ${perSec(denominator.dequeuePerSec)} durable (${pointInWords(numerator)}).`,
  );
};

/** An unsharded queue with this share of the sharded rate is as good: a tenth is no reason to migrate. */
const asGood = 0.9;

/** Minimum transactions per point: with fewer, chance decides how many commits fall into the window. */
const transactionsMin = 20;

const hasEnough = ({ dequeuePerSec, params, repeats }: QueuePoint): boolean => {
  const seconds = repeats.reduce((sum, repeat) => sum + repeat.measuredMs, 0) / 1000;
  return (dequeuePerSec * seconds) / params.operationsPerTransaction >= transactionsMin;
};

export const judgeW6: QueueJudge = (points) => {
  const unit = '× the sharded dequeue rate, for the workload that suits the unsharded queue best';
  const pairs = points
    .filter((point) => point.system !== 'sharded' && hasEnough(point))
    .flatMap((plain) => {
      const split = sharded(points.filter(hasEnough)).find(
        (point) => JSON.stringify(point.params) === JSON.stringify(plain.params),
      );
      return split === undefined ? [] : [comparison(plain, split, dequeues)];
    });
  const top = highest(pairs);
  if (top === null)
    return needs('Needs points of both queues with the same workload and at least twenty transactions.');
  const { numerator, denominator } = top;
  const good = pairs.filter(({ ratio }) => ratio.value >= asGood).length;
  return judged(
    top,
    { over: asGood, unit, statement: 'the unsharded queue is as fast for one of these workloads' },
    `For ${good} of ${pairs.length} workloads the unsharded queue reaches ${asGood} of the sharded rate or more. It does best with ${count(numerator.params.payloadBytes)} bytes and ${count(numerator.params.operationsPerTransaction)} operations per transaction (${pointInWords(numerator)}): ${perSec(numerator.dequeuePerSec)}, compared with ${perSec(denominator.dequeuePerSec)} sharded.`,
  );
};

/** With forwarding, the enqueue rate must be at least this share of the rate without it. */
const forwardedShareMin = 0.7;

export const judgeW9: QueueJudge = (points) => {
  const unit = '× the enqueue rate without forwarding';
  const withDequeuers = (place: string) =>
    sharded(points).filter((point) => point.params.dequeuers === place);
  const pairs = withDequeuers('other-instance').flatMap((forwarded) => {
    const stays = withDequeuers('same-instance').find((point) =>
      sameParamsExcept('dequeuers', point, forwarded),
    );
    return stays === undefined || stays.enqueuePerSec === 0 ? [] : [comparison(forwarded, stays, enqueues)];
  });
  const worst = lowest(pairs);
  if (worst === null)
    return needs('Needs sharded points that differ only in the instance of their dequeuers.');
  const { numerator, denominator } = worst;
  const ratesInWords = ({ enqueuePerSec, dequeuePerSec, latencyMs }: QueuePoint) =>
    `${perSec(enqueuePerSec)} enqueued, ${perSec(dequeuePerSec)} dequeued, median latency ${fixed(latencyMs.p50, 1)} ms`;
  return judgedUnderLoad(
    worst,
    { over: forwardedShareMin, unit, statement: 'forwarding does not slow enqueues' },
    `Dequeued on another instance: ${ratesInWords(numerator)}; on the same instance: ${ratesInWords(denominator)} (${pointInWords(numerator)}).`,
  );
};

/** Each trial checks at its end that rows and messages agree; this claim is that one commit costs less than two. */
export const judgeW10: QueueJudge = (points) => {
  const unit = '× the dequeue rate with rows in a separate transaction';
  const withRows = (rows: string) => sharded(points).filter((point) => point.params.rows === rows);
  const pairs = withRows('together').flatMap((together) => {
    const separate = withRows('separate').find((point) => sameParamsExcept('rows', point, together));
    return separate === undefined || separate.dequeuePerSec === 0
      ? []
      : [comparison(together, separate, dequeues)];
  });
  const middle = middleOf(pairs);
  if (middle === null)
    return needs('Needs sharded points that differ only in the transaction of their rows.');
  const { numerator, denominator } = middle;
  const bare = withRows('none').find((point) => sameParamsExcept('rows', point, numerator));
  const without = bare === undefined ? '' : `, ${perSec(bare.dequeuePerSec)} without rows`;
  return judged(
    middle,
    { over: 1, unit, statement: 'one commit is faster than two' },
    `The median of ${pairs.length} pairs: ${perSec(numerator.dequeuePerSec)} with a row per message in the same transaction, ${perSec(denominator.dequeuePerSec)} with rows in a separate one${without} (${pointInWords(numerator)}, ${count(numerator.params.operationsPerTransaction)} operations per transaction).`,
  );
};

const count = (value: number | undefined) => (value ?? 0).toLocaleString('en-US');
const mibPerSec = (point: QueuePoint) => `${fixed(bytes(point).value / 1024 ** 2, 1)} MiB/s`;
