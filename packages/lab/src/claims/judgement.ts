/** What a judge says, and the points that it looks at. */
import type { ClaimResult, Point } from '@shardlab/contract';
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

/**
 * Dequeues for each enqueue. Enqueuers that were held back because too many messages waited make both rates equal by
 * force, so such a point counts by how long they were held back: dequeuers that needed it did not keep up.
 */
export function keepUpRatio(point: Point): number {
  if (point.enqueuePerSec === 0) return 0;
  return (point.dequeuePerSec / point.enqueuePerSec) * (1 - heldBackShare(point));
}

/** Share of the enqueuers' time that they were held back, 0 to 1. */
export function heldBackShare(point: Point): number {
  const heldMs = point.waits.find((wait) => wait.event === 'flow control')?.totalMs ?? 0;
  const sessionMs = point.params.threads * point.repeats.reduce((sum, repeat) => sum + repeat.measuredMs, 0);
  return sessionMs === 0 ? 0 : Math.min(1, heldMs / sessionMs);
}

/** "1 instance, 16 threads", with the round trip if there is one. */
export function where(point: Point): string {
  const { instances, threads, roundTripMs } = point.params;
  const trip = roundTripMs > 0 ? `, ${roundTripMs} ms round trip` : '';
  return `${instances} ${instances === 1 ? 'instance' : 'instances'}, ${threads} ${threads === 1 ? 'thread' : 'threads'}${trip}`;
}

export const perSec = (rate: number) => `${Math.round(rate).toLocaleString('en-US')}/s`;
export const fixed = (value: number, digits = 2) => Number(value.toFixed(digits));
export const rounded = (interval: Interval | null, digits = 2): Interval | null =>
  interval === null ? null : [fixed(interval[0], digits), fixed(interval[1], digits)];
export const percent = (share: number) => `${Math.round(share * 100)} %`;

/** Appended to a reason where an interval could not be had. */
export const noInterval = (repeats: number) =>
  repeats < 2 ? ' One repeat, so there is no interval; the full scale has more.' : '';
