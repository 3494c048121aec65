/** The type of a judgement, and what judges have in common: selecting points, comparing with a bar, wording. */
import type { ClaimResult, Point, Verdict, WaitSummary } from '@shardlab/contract';
import type { Interval } from '@shardlab/model';

export interface JudgeContext {
  /** Cores of the machine on which was measured; null before anything was measured. */
  cores: number | null;
}

export type Judgement = Pick<ClaimResult, 'verdict' | 'value' | 'unit' | 'interval' | 'reason'>;

export type Judge = (points: readonly Point[], context: JudgeContext) => Judgement;

/**
 * How far two single measurements of the same thing can differ on a machine with other work (observed between quick
 * runs): a smaller difference, measured once, proves nothing.
 */
export const singleRepeatNoise = 0.2;

/** Operations per transaction that count as "much larger commit batches" than the paper's 10. */
export const largeBatchMin = 100;

export function inconclusive(unit: string, reason: string, value: number | null = null): Judgement {
  return { verdict: 'inconclusive', value, unit, interval: null, reason };
}

/**
 * Points with the same round trip, which can be compared. The document's clients are remote, so the shape of its curves
 * is judged by the points with an emulated round trip if a run has them; points without one are reported as well.
 */
export interface Family {
  roundTripMs: number;
  points: Point[];
  /** "with a 1 ms round trip", "without a round trip" */
  words: string;
}

/** The families of a run; the first is the one by which claims are judged. */
export function familiesOf(points: readonly Point[]): Family[] {
  const roundTrips = [...new Set(points.map((point) => point.params.roundTripMs))].sort((a, b) => b - a);
  return roundTrips.map((roundTripMs) => ({
    roundTripMs,
    points: points.filter((point) => point.params.roundTripMs === roundTripMs),
    words: roundTripMs > 0 ? `with a ${roundTripMs} ms round trip` : 'without a round trip',
  }));
}

export const sharded = (points: readonly Point[]) =>
  points.filter((point) => point.implementation === 'sharded');
export const unsharded = (points: readonly Point[]) =>
  points.filter((point) => point.implementation === 'unsharded');

/** Whether messages of a point were lost, duplicated, damaged or out of order. */
export const isFaulty = ({ integrity: { lost, duplicated, damaged, outOfOrder } }: Point): boolean =>
  lost + duplicated + damaged + outOfOrder > 0;

/** The point with the highest dequeue rate. */
export function best(points: readonly Point[]): Point | null {
  return points.reduce<Point | null>(
    (top, point) => (top === null || point.dequeuePerSec > top.dequeuePerSec ? point : top),
    null,
  );
}

export function distinct(points: readonly Point[], axis: 'instances' | 'threads'): number[] {
  return [...new Set(points.map((point) => point.params[axis]))].sort((a, b) => a - b);
}

/** Points under load: the upper half of the thread counts. With few threads there is no contention. */
export function underLoad(points: readonly Point[]): Point[] {
  const threads = distinct(points, 'threads');
  const least = threads[Math.floor(threads.length / 2)] ?? 0;
  return points.filter((point) => point.params.threads >= least);
}

/**
 * Whether a value is on the expected side of a bar. An interval that contains the bar is inconclusive, and a value
 * measured once must be further from the bar than single measurements differ.
 */
export function verdictAgainstBar(options: {
  value: number;
  interval: Interval | null;
  bar: number;
  wanted: 'over' | 'under';
}): Verdict {
  const { value, interval, bar, wanted } = options;
  const doubtful =
    interval === null
      ? Math.abs(value / bar - 1) < singleRepeatNoise
      : interval[0] <= bar && bar <= interval[1];
  if (doubtful) return 'inconclusive';
  return value > bar === (wanted === 'over') ? 'holds' : 'does-not-hold';
}

/** The waits caused by the queue: not those for work, for the emulated client or for flow control. */
export const queueWaits = (point: Point): WaitSummary[] =>
  point.waits.filter((wait) => wait.class !== 'idle' && !wait.emulated && wait.event !== 'flow control');

/** The queue's wait event with the most time. */
export function topWait(point: Point): WaitSummary | null {
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
export function keepUpRatio(point: Point): number {
  if (point.enqueuePerSec === 0) return 0;
  const called = point.enqueuePerSec * (point.params.subscribers ?? 1);
  return (point.dequeuePerSec / called) * (1 - heldBackShare(point));
}

/** Share of their time that enqueuers were paused by flow control, 0 to 1. */
export function heldBackShare(point: Point): number {
  const heldMs = point.waits.find((wait) => wait.event === 'flow control')?.totalMs ?? 0;
  const sessionMs = point.params.threads * point.repeats.reduce((sum, repeat) => sum + repeat.measuredMs, 0);
  return sessionMs === 0 ? 0 : Math.min(1, heldMs / sessionMs);
}

/** "1 instance, 16 threads", with the round trip if there is one, and the batch size if it is large. */
export function pointInWords(point: Point): string {
  const { instances, threads, roundTripMs, operationsPerTransaction } = point.params;
  const batch =
    operationsPerTransaction >= largeBatchMin
      ? `, ${operationsPerTransaction} operations per transaction`
      : '';
  const trip = `${roundTripMs > 0 ? `, ${roundTripMs} ms round trip` : ''}${batch}`;
  return `${instances} ${instances === 1 ? 'instance' : 'instances'}, ${threads} ${threads === 1 ? 'thread' : 'threads'}${trip}`;
}

export const perSec = (rate: number) => `${Math.round(rate).toLocaleString('en-US')}/s`;
export const fixed = (value: number, digits = 2) => Number(value.toFixed(digits));
export const rounded = (interval: Interval | null, digits = 2): Interval | null =>
  interval === null ? null : [fixed(interval[0], digits), fixed(interval[1], digits)];
/** Whole percents from 1 % on; one significant digit below. */
export const percent = (share: number) =>
  `${Math.abs(share) >= 0.01 ? Math.round(share * 100) : Number((share * 100).toPrecision(1))} %`;

/** Appended to a reason if there is no interval. */
export const noInterval = (repeats: number) =>
  repeats < 2 ? ' Only one repeat, so there is no interval; the full scale has more.' : '';
