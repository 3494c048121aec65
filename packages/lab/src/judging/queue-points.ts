/** What judges of queues and topics have in common: selecting points, waits, keeping up, wording. */
import type { WaitSummary } from '@shardlab/contract';
import type { QueuePoint } from '../programs/queue/queue-point.ts';
import type { Judge } from './judgement.ts';

export type QueueJudge = Judge<QueuePoint>;

/** Operations per transaction that count as "much larger commit batches" than the paper's 10. */
export const largeBatchMin = 100;

/**
 * Points with the same round trip, which can be compared. The document's clients are remote, so the shape of its curves
 * is judged by the points with an emulated round trip if a run has them; points without one are reported as well.
 */
export interface Family {
  roundTripMs: number;
  points: QueuePoint[];
  /** "with a 1 ms round trip", "without a round trip" */
  words: string;
}

/** The families of a run; the first is the one by which claims are judged. */
export function familiesOf(points: readonly QueuePoint[]): Family[] {
  const roundTrips = [...new Set(points.map((point) => point.params.roundTripMs))].sort((a, b) => b - a);
  return roundTrips.map((roundTripMs) => ({
    roundTripMs,
    points: points.filter((point) => point.params.roundTripMs === roundTripMs),
    words: roundTripMs > 0 ? `with a ${roundTripMs} ms round trip` : 'without a round trip',
  }));
}

export const sharded = (points: readonly QueuePoint[]) =>
  points.filter((point) => point.system === 'sharded');
export const unsharded = (points: readonly QueuePoint[]) =>
  points.filter((point) => point.system === 'unsharded');

/** The point with the highest dequeue rate. */
export function best(points: readonly QueuePoint[]): QueuePoint | null {
  return points.reduce<QueuePoint | null>(
    (top, point) => (top === null || point.dequeuePerSec > top.dequeuePerSec ? point : top),
    null,
  );
}

export function distinct(points: readonly QueuePoint[], axis: 'instances' | 'threads'): number[] {
  return [...new Set(points.map((point) => point.params[axis]))].sort((a, b) => a - b);
}

/** Points under load: the upper half of the thread counts. With few threads there is no contention. */
export function underLoad(points: readonly QueuePoint[]): QueuePoint[] {
  const threads = distinct(points, 'threads');
  const least = threads[Math.floor(threads.length / 2)] ?? 0;
  return points.filter((point) => point.params.threads >= least);
}

/** The waits caused by the queue: not those for work, for the emulated client or for flow control. */
export const queueWaits = (point: QueuePoint): WaitSummary[] =>
  point.waits.filter((wait) => wait.class !== 'idle' && !wait.emulated && wait.event !== 'flow control');

/** The queue's wait event with the most time. */
export function topWait(point: QueuePoint): WaitSummary | null {
  return queueWaits(point).reduce<WaitSummary | null>(
    (top, wait) => (top === null || wait.totalMs > top.totalMs ? wait : top),
    null,
  );
}

/** Appended if a claim compares with an unsharded topic, which the engine does not have. */
export const standIn =
  ' The engine has no unsharded topics: instead each subscriber has its own queue that gets a copy of every message, as with job tables.';

/** Dequeuers that consume at least this share of the enqueued messages keep up; the rest is in flight at the window's edges. */
export const keepUpMin = 0.95;

/**
 * Deliveries divided by those that the enqueues require: one per message of a queue, one per subscriber of a topic.
 * Pausing enqueuers at a large backlog makes both rates equal, so the ratio is reduced by the share of time that
 * enqueuers were paused: dequeuers that needed this did not keep up.
 */
export function keepUpRatio(point: QueuePoint): number {
  if (point.enqueuePerSec === 0) return 0;
  const called = point.enqueuePerSec * (point.params.subscribers ?? 1);
  return (point.dequeuePerSec / called) * (1 - heldBackShare(point));
}

/** Share of their time that enqueuers were paused by flow control, 0 to 1. */
export function heldBackShare(point: QueuePoint): number {
  const heldMs = point.waits.find((wait) => wait.event === 'flow control')?.totalMs ?? 0;
  const sessionMs = point.params.threads * point.repeats.reduce((sum, repeat) => sum + repeat.measuredMs, 0);
  return sessionMs === 0 ? 0 : Math.min(1, heldMs / sessionMs);
}

/** "1 instance, 16 threads", with the round trip if there is one, and the batch size if it is large. */
export function pointInWords(point: QueuePoint): string {
  const { instances, threads, roundTripMs, operationsPerTransaction } = point.params;
  const batch =
    operationsPerTransaction >= largeBatchMin
      ? `, ${operationsPerTransaction} operations per transaction`
      : '';
  const trip = `${roundTripMs > 0 ? `, ${roundTripMs} ms round trip` : ''}${batch}`;
  return `${instances} ${instances === 1 ? 'instance' : 'instances'}, ${threads} ${threads === 1 ? 'thread' : 'threads'}${trip}`;
}
