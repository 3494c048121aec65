/** Quantities of points, with a value for each repeat. */
import { fitLogLog } from '@shardlab/model';
import type { QueuePoint, QueueRepeat } from '../programs/queue/points/queue-point.ts';
import { queueWaits } from './queue-points.ts';
import { combined, geometricMean, ratioOf, type Sample, sampleOf } from './sample.ts';

/** A quantity that a judge reads from a point. */
export type Quantity = (point: QueuePoint) => Sample;

/** Without the repeats of which `read` tells nothing. */
export const quantity =
  (read: (repeat: QueueRepeat, point: QueuePoint) => number | undefined): Quantity =>
  (point) => {
    const told = point.repeats.flatMap((repeat) => {
      const value = read(repeat, point);
      return value === undefined ? [] : [{ value, notSteady: repeat.steady?.isSteady === false }];
    });
    return sampleOf(
      told.map(({ value }) => value),
      told.map(({ notSteady }) => notSteady),
    );
  };

export const dequeues = quantity(({ dequeuePerSec }) => dequeuePerSec);
export const enqueues = quantity(({ enqueuePerSec }) => enqueuePerSec);
export const operations = quantity(({ enqueuePerSec, dequeuePerSec }) => enqueuePerSec + dequeuePerSec);
export const bytes = quantity(({ dequeuePerSec }, { params }) => dequeuePerSec * params.payloadBytes);
export const rawRatio = quantity((repeat) => repeat.rawRatio);
export const cpuUs = quantity(({ cpuUsPerMessage }) => cpuUsPerMessage);
export const callMeanMs = quantity(({ dequeueCallMeanMs }) => dequeueCallMeanMs);
export const callP50Ms = quantity(({ dequeueCallP50Ms }) => dequeueCallP50Ms);
export const callP99Ms = quantity(({ dequeueCallP99Ms }) => dequeueCallP99Ms);

/** Of the time in which sessions waited for the write lock, the part in which another process had it. */
export const writeLockElsewhere = quantity((repeat) => repeat.writeLockElsewhere);

/** Cores that the point kept busy. */
export const busyCores = quantity(
  ({ dequeuePerSec, cpuUsPerMessage }) => (dequeuePerSec * cpuUsPerMessage) / 1e6,
);

/**
 * Deliveries divided by those that the enqueues require: one per message of a queue, one per subscriber of a topic.
 * Pausing enqueuers at a large backlog makes both rates equal, so the ratio is reduced by the share of time that
 * enqueuers were paused: dequeuers that needed this did not keep up.
 */
export const keptUp = quantity((repeat, { params }) => {
  const { enqueuePerSec, dequeuePerSec, waitMs, measuredMs } = repeat;
  if (enqueuePerSec === 0) return 0;
  const paused = (waitMs['flow control'] ?? 0) / (params.threads * measuredMs);
  return (dequeuePerSec / (enqueuePerSec * (params.subscribers ?? 1))) * (1 - Math.min(1, paused));
});

/** Dequeuers that consume at least this share of the enqueued messages keep up; the rest is in flight at the window's edges. */
export const keepUpMin = 0.95;
/** Both rates of the ratio are measured in the same trial, so it differs less between trials than rates do. */
export const keepUpNoise = 0.02;

/** Share of the queue's own waits (not those for work or for the client) that the named events make up. */
export const shareOfWaits = (isCounted: (wait: { event: string; class: string }) => boolean): Quantity =>
  quantity(({ waitMs }, point) => {
    const waits = queueWaits(point);
    const sum = (counted: typeof waits) =>
      counted.reduce((total, { event }) => total + (waitMs[event] ?? 0), 0);
    const total = sum(waits);
    return total === 0 ? 0 : sum(waits.filter(isCounted)) / total;
  });

/** Share of its sessions' time that the point spends in the queue: in CPU, or in the queue's own waits. */
export const shareInQueue = quantity(({ waitMs, measuredMs, dequeuePerSec, cpuUsPerMessage }, point) => {
  const { threads, subscribers = 1 } = point.params;
  const waiting = queueWaits(point).reduce((total, { event }) => total + (waitMs[event] ?? 0), 0);
  const cpuMs = (dequeuePerSec * cpuUsPerMessage * measuredMs) / 1e6;
  return (waiting + cpuMs) / (threads * (1 + subscribers) * measuredMs);
});

/** The slope of a quantity along a line of points on log-log axes: 1 doubles it when x doubles. */
export const slopeOf = (
  line: readonly QueuePoint[],
  of: Quantity,
  axis: 'threads' | 'instances' = 'threads',
): Sample => combined(line.map(of), (values) => fitAlong(line, values, axis)?.slope ?? Number.NaN);

/** The largest distance of a point from that line, as a share of it. */
export const bendOf = (line: readonly QueuePoint[], of: Quantity): Sample =>
  combined(line.map(of), (values) => fitAlong(line, values, 'threads')?.worstDeviation ?? Number.NaN);

const fitAlong = (line: readonly QueuePoint[], values: readonly number[], axis: 'threads' | 'instances') =>
  fitLogLog(line.map(({ params }, index) => ({ x: params[axis], y: values[index]! })));

export interface Step {
  from: number;
  to: number;
  /** Value with more instances ÷ value with fewer: the mean over all numbers of threads that occur with both. */
  ratio: Sample;
}

/** Each number of instances compared with the next lower one, where both have at least a thread per instance. */
export function stepsOverInstances(points: readonly QueuePoint[], of: Quantity): Step[] {
  const counts = [...new Set(points.map(({ params }) => params.instances))].sort((a, b) => a - b);
  return counts.slice(1).flatMap((to, index): Step[] => {
    const from = counts[index]!;
    const ratios = points.flatMap((more) => {
      const { instances, threads } = more.params;
      if (instances !== to || threads < to) return [];
      const fewer = points.find(({ params }) => params.instances === from && params.threads === threads);
      return fewer === undefined ? [] : [ratioOf(of(more), of(fewer))];
    });
    return ratios.length === 0 ? [] : [{ from, to, ratio: combined(ratios, geometricMean) }];
  });
}

/** The sample with the lowest value, or the highest; null of none. */
export const lowestBy = <T>(all: readonly T[], value: (each: T) => number): T | null =>
  all.reduce<T | null>((low, each) => (low === null || value(each) < value(low) ? each : low), null);
export const highestBy = <T>(all: readonly T[], value: (each: T) => number): T | null =>
  lowestBy(all, (each) => -value(each));
