/** W1 to W6, W9 and W10: what the document says in words. Each compares points that differ in one thing only. */
import type { Point } from '@shardlab/contract';
import {
  alike,
  bytesOf,
  comparison,
  cpuOf,
  enqueuesOf,
  highest,
  judged,
  lowest,
  middleOf,
  pairsAlong,
  rateOf,
  sameBut,
} from './comparison.ts';
import { fixed, inconclusive, type Judge, perSec, sharded, unsharded, where } from './judgement.ts';

/** A rate at a large backlog under this share of that at a small one is slower. */
const backlogShareMin = 0.7;

export const judgeW1: Judge = (points) => {
  const pairs = pairsAlong(sharded(points), 'backlog').map(([few, many]) => comparison(many, few, rateOf));
  const worst = lowest(pairs);
  const unit = '× the dequeue rate at the smallest backlog';
  if (worst === null) return inconclusive(unit, 'Needs sharded points that differ in their backlog only.');
  const { over, under, value } = worst;
  return judged(worst, { bar: backlogShareMin, wanted: 'over', unit }, [
    `At ${count(over.params.backlog)} waiting messages ${perSec(over.dequeuePerSec)}, at ${count(under.params.backlog)} ${perSec(under.dequeuePerSec)} (${where(over)}), ${fixed(value)} times.`,
    `${backlogShareMin} or more counts as not slower.`,
  ]);
};

/** A rate of bytes that is lower by more than a sixth than that of smaller messages falls. */
const bytesShareMin = 0.85;

export const judgeW2: Judge = (points) => {
  const unit = '× the bytes a second of the next smaller size, at the worst step';
  const lines = [...alike(sharded(points), 'payloadBytes').values()];
  const steps = lines.flatMap((line) =>
    line.slice(1).map((large, index) => comparison(large, line[index]!, bytesOf)),
  );
  const worst = lowest(steps);
  if (worst === null)
    return inconclusive(unit, 'Needs sharded points that differ in their payload size only.');
  const { over, under } = worst;
  const top = lines.flat().reduce((most, point) => (bytesOf(point).rate > bytesOf(most).rate ? point : most));
  return judged(worst, { bar: bytesShareMin, wanted: 'over', unit }, [
    `The worst step: ${mibPerSec(under)} with ${count(under.params.payloadBytes)} bytes, ${mibPerSec(over)} with ${count(over.params.payloadBytes)} (${where(over)}); the most is ${mibPerSec(top)} with ${count(top.params.payloadBytes)}.`,
    `${bytesShareMin} or more counts as no loss.`,
  ]);
};

/** CPU of a delivery to one of many subscribers, against its cheapest with fewer. */
const subscriberCostMax = 1.5;

export const judgeW3: Judge = (points) => {
  const unit = '× the CPU of a delivery with fewer subscribers';
  const pairs = [...alike(sharded(points), 'subscribers').values()].flatMap((line) => {
    const most = line.at(-1)!;
    const fewer = line.slice(0, -1).filter((point) => point.cpuUsPerMessage > 0);
    if (fewer.length === 0 || most.cpuUsPerMessage === 0) return [];
    const cheapest = fewer.reduce((low, point) =>
      point.cpuUsPerMessage < low.cpuUsPerMessage ? point : low,
    );
    return [comparison(most, cheapest, cpuOf)];
  });
  const worst = highest(pairs);
  if (worst === null)
    return inconclusive(unit, 'Needs points of a sharded topic that differ in their subscribers only.');
  const { over, under } = worst;
  return judged(worst, { bar: subscriberCostMax, wanted: 'under', unit }, [
    `With ${count(over.params.subscribers)} subscribers a delivery takes ${fixed(over.cpuUsPerMessage)} µs of CPU (${where(over)}, ${perSec(over.dequeuePerSec)}), at its cheapest, with ${count(under.params.subscribers)}, ${fixed(under.cpuUsPerMessage)} µs.`,
    `Up to ${subscriberCostMax} times counts as efficient.`,
  ]);
};

export const judgeW4: Judge = (points) => {
  const unit = '× the CPU of a message from a cache that holds the backlog';
  const pairs = pairsAlong(sharded(points), 'cacheMiB').map(([small, large]) =>
    comparison(small, large, cpuOf),
  );
  const middle = middleOf(pairs);
  if (middle === null)
    return inconclusive(unit, 'Needs sharded points that differ in the size of the cache only.');
  const { over, under } = middle;
  return judged(middle, { bar: 1, wanted: 'over', unit }, [
    `With a cache of ${count(over.params.cacheMiB)} MiB ${fixed(over.cpuUsPerMessage, 1)} µs of CPU a message and ${perSec(over.dequeuePerSec)}, with ${count(under.params.cacheMiB)} MiB ${fixed(under.cpuUsPerMessage, 1)} µs and ${perSec(under.dequeuePerSec)} (${where(over)}).`,
  ]);
};

export const judgeW5: Judge = (points) => {
  const unit = '× the dequeue rate of durable messages';
  const of = (durability: string) =>
    sharded(points).filter((point) => point.params.durability === durability);
  const pairs = of('memory').flatMap((memory) => {
    const durable = of('durable').find((point) => sameBut('durability', point, memory));
    return durable === undefined || durable.dequeuePerSec === 0 ? [] : [comparison(memory, durable, rateOf)];
  });
  const middle = middleOf(pairs);
  if (middle === null)
    return inconclusive(unit, 'Needs nonpersistent and durable points that differ in nothing else.');
  const { over, under } = middle;
  return judged(middle, { bar: 1, wanted: 'over', unit }, [
    `The middle of ${pairs.length} pairs: ${perSec(over.dequeuePerSec)} nonpersistent, ${perSec(under.dequeuePerSec)} durable (${where(over)}).`,
  ]);
};

/** Unsharded at this share of the sharded rate is as good: a tenth is no reason to migrate. */
const asGood = 0.9;

/** A distant client with large batches commits a few times a window: chance decides how many of them fall into it. */
const transactionsMin = 20;

const hasEnough = ({ dequeuePerSec, params, repeats }: Point): boolean => {
  const seconds = repeats.reduce((sum, repeat) => sum + repeat.measuredMs, 0) / 1000;
  return (dequeuePerSec * seconds) / params.operationsPerTransaction >= transactionsMin;
};

export const judgeW6: Judge = (points) => {
  const unit = '× the sharded dequeue rate, at the workload that suits unsharded best';
  const pairs = unsharded(points.filter(hasEnough)).flatMap((plain) => {
    const split = sharded(points.filter(hasEnough)).find(
      (point) => JSON.stringify(point.params) === JSON.stringify(plain.params),
    );
    return split === undefined ? [] : [comparison(plain, split, rateOf)];
  });
  const top = highest(pairs);
  if (top === null)
    return inconclusive(
      unit,
      'Needs points of both queues with the same workload, of twenty transactions at least.',
    );
  const { over, under } = top;
  const good = pairs.filter(({ value }) => value >= asGood).length;
  return judged(top, { bar: asGood, wanted: 'over', unit }, [
    `At ${good} of ${pairs.length} workloads unsharded has ${asGood} of the sharded rate or more. It does best with ${count(over.params.payloadBytes)} bytes, ${count(over.params.operationsPerTransaction)} a transaction (${where(over)}): ${perSec(over.dequeuePerSec)} against ${perSec(under.dequeuePerSec)}.`,
  ]);
};

/** An enqueuer whose messages leave its instance at this share of the rate of one whose messages stay is not held up. */
const forwardedShareMin = 0.7;

export const judgeW9: Judge = (points) => {
  const unit = '× the enqueue rate where messages stay on their instance';
  const of = (place: string) => sharded(points).filter((point) => point.params.dequeuers === place);
  const pairs = of('elsewhere').flatMap((forwarded) => {
    const stays = of('beside').find((point) => sameBut('dequeuers', point, forwarded));
    return stays === undefined || stays.enqueuePerSec === 0 ? [] : [comparison(forwarded, stays, enqueuesOf)];
  });
  const worst = lowest(pairs);
  if (worst === null)
    return inconclusive(unit, 'Needs sharded points that differ only in where their dequeuers are.');
  const { over, under } = worst;
  const both = ({ enqueuePerSec, dequeuePerSec, latencyMs }: Point) =>
    `${perSec(enqueuePerSec)} in, ${perSec(dequeuePerSec)} out after ${fixed(latencyMs.p50, 1)} ms in the middle`;
  return judged(worst, { bar: forwardedShareMin, wanted: 'over', unit }, [
    `Dequeued on another instance: ${both(over)}; on the same one: ${both(under)} (${where(over)}).`,
    `${forwardedShareMin} or more counts as not held up.`,
  ]);
};

/** That a row and its message are there together is what each trial checks at its end; here one commit is to cost less than two. */
export const judgeW10: Judge = (points) => {
  const unit = '× the dequeue rate with rows in a transaction of their own';
  const of = (rows: string) => sharded(points).filter((point) => point.params.rows === rows);
  const pairs = of('together').flatMap((together) => {
    const apart = of('apart').find((point) => sameBut('rows', point, together));
    return apart === undefined || apart.dequeuePerSec === 0 ? [] : [comparison(together, apart, rateOf)];
  });
  const middle = middleOf(pairs);
  if (middle === null)
    return inconclusive(
      unit,
      'Needs sharded points that differ only in which transaction their rows are in.',
    );
  const { over, under } = middle;
  const bare = of('none').find((point) => sameBut('rows', point, over));
  const without = bare === undefined ? '' : `, ${perSec(bare.dequeuePerSec)} without rows`;
  return judged(middle, { bar: 1, wanted: 'over', unit }, [
    `The middle of ${pairs.length} pairs: ${perSec(over.dequeuePerSec)} with a row for each message in its transaction, ${perSec(under.dequeuePerSec)} with rows in one of their own${without} (${where(over)}, ${count(over.params.operationsPerTransaction)} a transaction).`,
  ]);
};

const count = (value: number | undefined) => (value ?? 0).toLocaleString('en-US');
const mibPerSec = (point: Point) => `${fixed(bytesOf(point).rate / 1024 ** 2, 1)} MiB/s`;
