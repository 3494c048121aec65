/** What a judge says, and the points that it looks at. */
import type { ClaimResult, Point, Verdict, WaitFigure } from '@shardlab/contract';
import type { Interval } from '@shardlab/model';

export interface JudgeContext {
  /** Cores of the machine that measured; null while nothing has been measured. */
  cores: number | null;
}

export type Judgement = Pick<ClaimResult, 'verdict' | 'value' | 'unit' | 'interval' | 'reason'>;

export type Judge = (points: readonly Point[], context: JudgeContext) => Judgement;

/**
 * How far two single measurements of one thing may lie apart on a machine with other work (seen between quick runs):
 * a smaller difference, measured once, shows nothing.
 */
export const singleRepeatNoise = 0.2;

/** "Much larger commit batches" than the paper's 10: operations in a transaction. */
export const largeBatchMin = 100;

export function inconclusive(unit: string, reason: string, value: number | null = null): Judgement {
  return { verdict: 'inconclusive', value, unit, interval: null, reason };
}

/**
 * Points of one round trip, which is what may be compared. The document's clients are remote ones, so the shape of its
 * curves is judged on the points with an emulated round trip where a run has them; those as they are, without one, are
 * reported beside.
 */
export interface Family {
  roundTripMs: number;
  points: Point[];
  /** "with a 1 ms round trip", "without round trip" */
  words: string;
}

/** The families of a run, the one that judges first. */
export function familiesOf(points: readonly Point[]): Family[] {
  const roundTrips = [...new Set(points.map((point) => point.params.roundTripMs))].sort((a, b) => b - a);
  return roundTrips.map((roundTripMs) => ({
    roundTripMs,
    points: points.filter((point) => point.params.roundTripMs === roundTripMs),
    words: roundTripMs > 0 ? `with a ${roundTripMs} ms round trip` : 'without round trip',
  }));
}

export const sharded = (points: readonly Point[]) =>
  points.filter((point) => point.implementation === 'sharded');
export const unsharded = (points: readonly Point[]) =>
  points.filter((point) => point.implementation === 'unsharded');

/** Whether messages of a point were lost, doubled, damaged or out of order. */
export const isFaulty = ({ integrity: { lost, duplicated, damaged, outOfOrder } }: Point): boolean =>
  lost + duplicated + damaged + outOfOrder > 0;

/** The point of the highest dequeue rate. */
export function best(points: readonly Point[]): Point | null {
  return points.reduce<Point | null>(
    (top, point) => (top === null || point.dequeuePerSec > top.dequeuePerSec ? point : top),
    null,
  );
}

export function distinct(points: readonly Point[], axis: 'instances' | 'threads'): number[] {
  return [...new Set(points.map((point) => point.params[axis]))].sort((a, b) => a - b);
}

/** Points under load: those of the upper half of the thread counts. At few threads nothing competes. */
export function underLoad(points: readonly Point[]): Point[] {
  const threads = distinct(points, 'threads');
  const least = threads[Math.floor(threads.length / 2)] ?? 0;
  return points.filter((point) => point.params.threads >= least);
}

/**
 * Whether a value is on the wanted side of a bar. An interval that contains the bar decides nothing, and a value measured
 * once must be further from the bar than single measurements lie apart.
 */
export function sideOf(options: {
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

/** Waits of the queue itself: those for work and for the emulated client say nothing of it. */
export const ownWaits = (point: Point): WaitFigure[] =>
  point.waits.filter((wait) => wait.class !== 'idle' && !wait.emulated && wait.event !== 'flow control');

/** The own event of the most time. */
export function topWait(point: Point): WaitFigure | null {
  return ownWaits(point).reduce<WaitFigure | null>(
    (top, wait) => (top === null || wait.totalMs > top.totalMs ? wait : top),
    null,
  );
}

/** Appended where a claim compares with an unsharded topic, which the engine does not have. */
export const standIn =
  ' Unsharded topics are missing here: a queue for each subscriber and a copy into every one, as job tables fan out, stands in for them.';

/** Dequeuers that consume this share of what is enqueued keep up: the rest is what is in flight in a short window. */
export const keepUpMin = 0.95;

/**
 * Deliveries for each that an enqueue calls for: one of a queue, one for each subscriber of a topic. Enqueuers that were held back because too many messages waited make both rates equal by
 * force, so such a point counts by how long they were held back: dequeuers that needed it did not keep up.
 */
export function keepUpRatio(point: Point): number {
  if (point.enqueuePerSec === 0) return 0;
  const called = point.enqueuePerSec * (point.params.subscribers ?? 1);
  return (point.dequeuePerSec / called) * (1 - heldBackShare(point));
}

/** Share of the enqueuers' time that they were held back, 0 to 1. */
export function heldBackShare(point: Point): number {
  const heldMs = point.waits.find((wait) => wait.event === 'flow control')?.totalMs ?? 0;
  const sessionMs = point.params.threads * point.repeats.reduce((sum, repeat) => sum + repeat.measuredMs, 0);
  return sessionMs === 0 ? 0 : Math.min(1, heldMs / sessionMs);
}

/** "1 instance, 16 threads", with the round trip if there is one, and the batch if it is large. */
export function where(point: Point): string {
  const { instances, threads, roundTripMs, operationsPerTransaction } = point.params;
  const batch =
    operationsPerTransaction >= largeBatchMin ? `, ${operationsPerTransaction} a transaction` : '';
  const trip = `${roundTripMs > 0 ? `, ${roundTripMs} ms round trip` : ''}${batch}`;
  return `${instances} ${instances === 1 ? 'instance' : 'instances'}, ${threads} ${threads === 1 ? 'thread' : 'threads'}${trip}`;
}

export const perSec = (rate: number) => `${Math.round(rate).toLocaleString('en-US')}/s`;
export const fixed = (value: number, digits = 2) => Number(value.toFixed(digits));
export const rounded = (interval: Interval | null, digits = 2): Interval | null =>
  interval === null ? null : [fixed(interval[0], digits), fixed(interval[1], digits)];
/** Whole from 1 % on; below it the first digit that counts. */
export const percent = (share: number) =>
  `${Math.abs(share) >= 0.01 ? Math.round(share * 100) : Number((share * 100).toPrecision(1))} %`;

/** Appended to a reason where an interval could not be had. */
export const noInterval = (repeats: number) =>
  repeats < 2 ? ' One repeat, so there is no interval; the full scale has more.' : '';
